"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "courses",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("title", sa.String(length=255), nullable=False),
        sa.Column("timezone", sa.String(length=64), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_courses"),
    )
    op.create_table(
        "users",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("login", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("email", sa.String(length=255), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_users"),
        sa.UniqueConstraint("login", name="uq_users_login"),
    )
    op.create_table(
        "clients",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("course_id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("secret_hash", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("revoked_at", sa.DateTime(), nullable=True),
        sa.ForeignKeyConstraint(["course_id"], ["courses.id"], name="fk_clients_course_id_courses"),
        sa.PrimaryKeyConstraint("id", name="pk_clients"),
    )
    op.create_index("ix_clients_course_id", "clients", ["course_id"])
    op.create_table(
        "labs",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("course_id", sa.String(length=64), nullable=False),
        sa.Column("title", sa.String(length=255), nullable=False),
        sa.Column("pack", sa.String(length=64), nullable=False),
        sa.Column("due_at", sa.DateTime(), nullable=True),
        sa.Column("policy", sa.JSON(), nullable=False),
        sa.Column("released", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["course_id"], ["courses.id"], name="fk_labs_course_id_courses"),
        sa.PrimaryKeyConstraint("id", name="pk_labs"),
    )
    op.create_index("ix_labs_course_id", "labs", ["course_id"])
    op.create_table(
        "members",
        sa.Column("course_id", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("section", sa.String(length=64), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["course_id"], ["courses.id"], name="fk_members_course_id_courses"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_members_user_id_users"),
        sa.PrimaryKeyConstraint("course_id", "user_id", name="pk_members"),
    )
    op.create_index("ix_members_user_id", "members", ["user_id"])
    op.create_table(
        "grade_changes",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("lab_id", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("by_user_id", sa.Integer(), nullable=True),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.Column("why", sa.String(length=255), nullable=False),
        sa.Column("points_before", sa.String(length=32), nullable=True),
        sa.Column("points_after", sa.String(length=32), nullable=True),
        sa.ForeignKeyConstraint(["by_user_id"], ["users.id"], name="fk_grade_changes_by_user_id_users"),
        sa.ForeignKeyConstraint(["lab_id"], ["labs.id"], name="fk_grade_changes_lab_id_labs"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_grade_changes_user_id_users"),
        sa.PrimaryKeyConstraint("id", name="pk_grade_changes"),
    )
    op.create_index("ix_grade_changes_lab_user", "grade_changes", ["lab_id", "user_id"])
    op.create_table(
        "submissions",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("lab_id", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("filename", sa.String(length=255), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("answers", sa.JSON(), nullable=False),
        sa.Column("received_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["lab_id"], ["labs.id"], name="fk_submissions_lab_id_labs"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_submissions_user_id_users"),
        sa.PrimaryKeyConstraint("id", name="pk_submissions"),
        sa.UniqueConstraint("lab_id", "user_id", "number", name="uq_submissions_lab_id_user_id_number"),
    )
    op.create_index("ix_submissions_received_at", "submissions", ["received_at"])
    op.create_index("ix_submissions_user_id", "submissions", ["user_id"])
    op.create_table(
        "tokens",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("hint", sa.String(length=16), nullable=False),
        sa.Column("purpose", sa.String(length=16), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column("client_id", sa.String(length=64), nullable=True),
        sa.Column("parent_id", sa.Integer(), nullable=True),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("expires_at", sa.DateTime(), nullable=True),
        sa.Column("last_used_at", sa.DateTime(), nullable=True),
        sa.Column("revoked_at", sa.DateTime(), nullable=True),
        sa.ForeignKeyConstraint(["client_id"], ["clients.id"], name="fk_tokens_client_id_clients"),
        sa.ForeignKeyConstraint(["parent_id"], ["tokens.id"], name="fk_tokens_parent_id_tokens"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_tokens_user_id_users"),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
        sa.UniqueConstraint("hash", name="uq_tokens_hash"),
    )
    op.create_index("ix_tokens_client_id", "tokens", ["client_id"])
    op.create_index("ix_tokens_parent_id", "tokens", ["parent_id"])
    op.create_index("ix_tokens_user_id", "tokens", ["user_id"])
    op.create_table(
        "gradings",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("submission_id", sa.String(length=32), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("queue", sa.String(length=16), nullable=False),
        sa.Column("why", sa.String(length=255), nullable=False),
        sa.Column("by_user_id", sa.Integer(), nullable=True),
        sa.Column("queued_at", sa.DateTime(), nullable=False),
        sa.Column("nudged_at", sa.DateTime(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("claim", sa.String(length=64), nullable=True),
        sa.Column("lease_until", sa.DateTime(), nullable=True),
        sa.Column("progress", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.DateTime(), nullable=True),
        sa.Column("finished_at", sa.DateTime(), nullable=True),
        sa.Column("fault", sa.String(length=255), nullable=True),
        sa.Column("isolation", sa.String(length=64), nullable=True),
        sa.Column("pack_digest", sa.String(length=64), nullable=True),
        sa.Column("points", sa.String(length=32), nullable=True),
        sa.Column("bonus", sa.String(length=32), nullable=True),
        sa.Column("pending", sa.String(length=32), nullable=True),
        sa.Column("out_of", sa.String(length=32), nullable=True),
        sa.Column("current", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["by_user_id"], ["users.id"], name="fk_gradings_by_user_id_users"),
        sa.ForeignKeyConstraint(["submission_id"], ["submissions.id"], name="fk_gradings_submission_id_submissions"),
        sa.PrimaryKeyConstraint("id", name="pk_gradings"),
    )
    op.create_index("ix_gradings_submission_id", "gradings", ["submission_id"])
    op.create_index("ix_gradings_waiting", "gradings", ["state", "queue", "queued_at"])
    op.create_index(
        "uq_gradings_current",
        "gradings",
        ["submission_id"],
        unique=True,
        sqlite_where=sa.text("current"),
        postgresql_where=sa.text("current"),
    )
    op.create_table(
        "grades",
        sa.Column("lab_id", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("grading_id", sa.String(length=32), nullable=False),
        sa.Column("points", sa.String(length=32), nullable=False),
        sa.Column("bonus", sa.String(length=32), nullable=False),
        sa.Column("pending", sa.String(length=32), nullable=False),
        sa.Column("out_of", sa.String(length=32), nullable=False),
        sa.Column("late", sa.Boolean(), nullable=False),
        sa.Column("questions", sa.JSON(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("changed_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["grading_id"], ["gradings.id"], name="fk_grades_grading_id_gradings"),
        sa.ForeignKeyConstraint(["lab_id"], ["labs.id"], name="fk_grades_lab_id_labs"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_grades_user_id_users"),
        sa.PrimaryKeyConstraint("lab_id", "user_id", name="pk_grades"),
    )
    op.create_index("ix_grades_lab_revision", "grades", ["lab_id", "revision"])
    op.create_index("ix_grades_user_id", "grades", ["user_id"])
    op.create_table(
        "verdicts",
        sa.Column("grading_id", sa.String(length=32), nullable=False),
        sa.Column("question", sa.String(length=32), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("points", sa.String(length=32), nullable=False),
        sa.Column("out_of", sa.String(length=32), nullable=False),
        sa.Column("needs_review", sa.String(length=500), nullable=True),
        sa.Column("explained", sa.Boolean(), nullable=False),
        sa.Column("diagnosis_code", sa.String(length=120), nullable=True),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["grading_id"], ["gradings.id"], name="fk_verdicts_grading_id_gradings"),
        sa.PrimaryKeyConstraint("grading_id", "question", name="pk_verdicts"),
    )


def downgrade() -> None:
    op.drop_table("verdicts")
    op.drop_table("grades")
    op.drop_table("gradings")
    op.drop_table("tokens")
    op.drop_table("submissions")
    op.drop_table("grade_changes")
    op.drop_table("members")
    op.drop_table("labs")
    op.drop_table("clients")
    op.drop_table("users")
    op.drop_table("courses")
