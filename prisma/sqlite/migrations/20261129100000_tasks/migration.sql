-- Rollout step 1: before the first replica of this version.
-- Old replicas: know nothing of this table and go on.
-- Locks: the file, for the milliseconds the statement takes.
-- Moments are integers, milliseconds since 1970 in UTC (prisma/README.md).

CREATE TABLE "tasks" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "tenant" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "context_id" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "status_timestamp" TEXT,
    "version" INTEGER NOT NULL,
    "created_at" DATETIME NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)),
    "updated_at" DATETIME NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER))
);

CREATE INDEX "tasks_tenant_owner_status_timestamp_id_idx" ON "tasks"("tenant", "owner", "status_timestamp", "id");

CREATE INDEX "tasks_tenant_owner_context_id_status_timestamp_id_idx" ON "tasks"("tenant", "owner", "context_id", "status_timestamp", "id");
