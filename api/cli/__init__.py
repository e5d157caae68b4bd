"""The command line `rooflab`.

The exit codes are in `EPILOG`, which `--help` shows. Commands of the working side come by entry points, so that nothing
here imports the worker or torch.
"""

import sys
from importlib.metadata import entry_points

import typer
from pydantic import ValidationError
from sqlalchemy.exc import ArgumentError, OperationalError, ProgrammingError

from api.cli import administration, client
from api.cli.serve import serve

EPILOG = (
    "Exit codes: 0 done, 1 failed (the reason is printed), 2 wrong usage, 3 refused, 4 server not reachable, "
    "5 not authorised."
)

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Rooflab grades a GPU-performance lab.",
    epilog=EPILOG,
)
app.command()(serve)
app.command()(client.submit)
app.command()(client.status)
app.add_typer(administration.db, name="db")
app.add_typer(administration.roster, name="roster")
app.add_typer(administration.token, name="token")


def main() -> None:
    """Run the command line, with the commands that other packages bring by the entry point `rooflab.commands`."""
    for entry in entry_points(group="rooflab.commands"):
        command = entry.load()
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=entry.name)
        else:
            app.command(entry.name)(command)
    try:
        app()
    except (OperationalError, ProgrammingError) as error:
        cause = str(error.orig).splitlines()[0]
        sys.exit(
            f"The database cannot be used ({cause}): ROOFLAB_DATA or ROOFLAB_DATABASE_URL says where it is, "
            "`rooflab db migrate` makes its tables."
        )
    except ArgumentError:
        sys.exit("ROOFLAB_DATABASE_URL is no database's address: one is postgresql+psycopg://user:password@host/name.")
    except OSError as error:
        sys.exit(f"{error.filename or 'The system'}: {error.strerror or error}.")
    except ValidationError as error:
        if error.title != "Settings":
            raise
        wrong = [f"ROOFLAB_{'_'.join(map(str, one['loc'])).upper()}: {one['msg']}" for one in error.errors()]
        sys.exit("; ".join(wrong))
