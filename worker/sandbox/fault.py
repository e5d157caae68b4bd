"""The one error of the sandbox: a failure of ours, never of the student's code."""


class SandboxFault(Exception):
    """The sandbox itself failed; `cause` is for staff. Whatever a child does is an observation, not this."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause
