-- Rollout step 6: before the first replica of this version. Adds replicas, changes no other table.
-- Old replicas: know nothing of this table and go on; operators do not see them in it.
-- Locks: the file, for the milliseconds the statement takes.

CREATE TABLE "replicas" (
    "replica_id" TEXT NOT NULL PRIMARY KEY,
    "version" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "pid" INTEGER NOT NULL,
    "heartbeat_ms" INTEGER NOT NULL,
    "phase" TEXT NOT NULL,
    "stats" TEXT NOT NULL,
    "started_at" DATETIME NOT NULL,
    "beat_at" DATETIME NOT NULL,
    "pause_requested_at" DATETIME
);
