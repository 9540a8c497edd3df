-- Rollout step 1: before the first replica of this version, together with tasks.
-- Old replicas: know nothing of this table and go on.
-- Locks: the file, for the milliseconds the statement takes.
-- The unique index finds a message that is sent twice. Partial: most events carry no message_id.

CREATE TABLE "task_events" (
    "task_id" TEXT NOT NULL,
    "seq" INTEGER NOT NULL,
    "kind" TEXT NOT NULL,
    "payload" TEXT NOT NULL,
    "write_id" TEXT NOT NULL,
    "message_id" TEXT,
    "holder" TEXT NOT NULL,
    "epoch" INTEGER NOT NULL,
    "created_at" DATETIME NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)),

    PRIMARY KEY ("task_id", "seq")
);

CREATE UNIQUE INDEX "task_events_task_id_message_id_key" ON "task_events"("task_id", "message_id") WHERE "message_id" IS NOT NULL;
