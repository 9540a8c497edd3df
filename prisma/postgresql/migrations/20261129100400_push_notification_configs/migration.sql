-- Rollout step 1: before the first replica of this version. Holds webhooks and their secrets.
-- Old replicas: know nothing of this table and go on.
-- Locks: nothing that exists; it only creates.

CREATE TABLE "push_notification_configs" (
    "task_id" TEXT COLLATE "C" NOT NULL,
    "config_id" TEXT COLLATE "C" NOT NULL,
    "tenant" TEXT COLLATE "C" NOT NULL,
    "owner" TEXT COLLATE "C" NOT NULL,
    "url" TEXT NOT NULL,
    "payload" TEXT NOT NULL,
    "wire_version" TEXT COLLATE "C" NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),

    CONSTRAINT "push_notification_configs_pkey" PRIMARY KEY ("task_id", "config_id")
);
