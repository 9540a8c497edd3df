-- Rollout step 1: before the first replica of this version, together with tasks.
-- Old replicas: know nothing of this table and go on.
-- Locks: nothing that exists; it only creates.

CREATE TABLE "task_snapshots" (
    "task_id" TEXT COLLATE "C" NOT NULL,
    "version" INTEGER NOT NULL,
    "payload" TEXT NOT NULL,

    CONSTRAINT "task_snapshots_pkey" PRIMARY KEY ("task_id")
);
