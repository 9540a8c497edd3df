-- Rollout step 6: before the first replica of this version. Adds replicas, changes no other table.
-- Old replicas: know nothing of this table and go on; operators do not see them in it.
-- Locks: nothing that exists; it only creates.
-- fillfactor 50 and no index but the key: reports, one per heartbeat, stay heap-only updates.

CREATE TABLE "replicas" (
    "replica_id" TEXT COLLATE "C" NOT NULL,
    "version" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "pid" INTEGER NOT NULL,
    "heartbeat_ms" INTEGER NOT NULL,
    "phase" TEXT COLLATE "C" NOT NULL,
    "stats" TEXT NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "beat_at" TIMESTAMPTZ(3) NOT NULL,
    "pause_requested_at" TIMESTAMPTZ(3),

    CONSTRAINT "replicas_pkey" PRIMARY KEY ("replica_id")
) WITH (fillfactor = 50);
