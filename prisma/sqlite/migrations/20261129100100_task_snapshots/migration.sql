-- Rollout step 1: before the first replica of this version, together with tasks.
-- Old replicas: know nothing of this table and go on.
-- Locks: the file, for the milliseconds the statement takes.

CREATE TABLE "task_snapshots" (
    "task_id" TEXT NOT NULL PRIMARY KEY,
    "version" INTEGER NOT NULL,
    "payload" TEXT NOT NULL
);
