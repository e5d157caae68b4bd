"""The working door: Celery tasks and the sandbox they run student code in."""
