-- Rollout step 1: before the first replica of this version, together with tasks.
-- Old replicas: know nothing of this table and go on.
-- Locks: nothing that exists; it only creates.
-- The unique index finds a message that is sent twice. Partial: most events carry no message_id.

CREATE TABLE "task_events" (
    "task_id" TEXT COLLATE "C" NOT NULL,
    "seq" INTEGER NOT NULL,
    "kind" TEXT COLLATE "C" NOT NULL,
    "payload" TEXT NOT NULL,
    "write_id" TEXT COLLATE "C" NOT NULL,
    "message_id" TEXT COLLATE "C",
    "holder" TEXT COLLATE "C" NOT NULL,
    "epoch" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),

    CONSTRAINT "task_events_pkey" PRIMARY KEY ("task_id", "seq")
);

CREATE UNIQUE INDEX "task_events_task_id_message_id_key" ON "task_events"("task_id", "message_id") WHERE "message_id" IS NOT NULL;
