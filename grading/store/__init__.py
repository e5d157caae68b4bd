"""All SQL: typed tables, functions over a session, and one commit point (`grading.store.session`)."""
