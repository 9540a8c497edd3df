-- Rollout step 1: before the first replica of this version.
-- Old replicas: know nothing of this table and go on.
-- Locks: nothing that exists; it only creates.
-- fillfactor 70: version and updated_at change with every event; the free space keeps those updates heap-only.
-- No index on version or updated_at for the same reason. Collation "C": compared byte for byte.

CREATE TABLE "tasks" (
    "id" TEXT COLLATE "C" NOT NULL,
    "tenant" TEXT COLLATE "C" NOT NULL,
    "owner" TEXT COLLATE "C" NOT NULL,
    "context_id" TEXT COLLATE "C" NOT NULL,
    "state" TEXT COLLATE "C" NOT NULL,
    "status_timestamp" TEXT COLLATE "C",
    "version" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),

    CONSTRAINT "tasks_pkey" PRIMARY KEY ("id")
) WITH (fillfactor = 70);

CREATE INDEX "tasks_tenant_owner_status_timestamp_id_idx" ON "tasks"("tenant", "owner", "status_timestamp", "id");

CREATE INDEX "tasks_tenant_owner_context_id_status_timestamp_id_idx" ON "tasks"("tenant", "owner", "context_id", "status_timestamp", "id");
