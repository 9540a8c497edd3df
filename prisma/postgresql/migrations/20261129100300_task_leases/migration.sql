-- Rollout step 2: its own migration, so that it can be looked at alone. Adds task_leases, changes no other table.
-- Old replicas: know nothing of this table and go on.
-- Locks: nothing that exists; it only creates.
-- fillfactor 50 and no index on expires_at: heartbeats stay heap-only updates. The sweeper scans a small table.

CREATE TABLE "task_leases" (
    "task_id" TEXT COLLATE "C" NOT NULL,
    "tenant" TEXT COLLATE "C" NOT NULL,
    "owner" TEXT COLLATE "C" NOT NULL,
    "holder" TEXT COLLATE "C" NOT NULL,
    "epoch" INTEGER NOT NULL,
    "pending" BOOLEAN NOT NULL DEFAULT false,
    "acquired_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "cancel_requested_at" TIMESTAMPTZ(3),

    CONSTRAINT "task_leases_pkey" PRIMARY KEY ("task_id")
) WITH (fillfactor = 50);
