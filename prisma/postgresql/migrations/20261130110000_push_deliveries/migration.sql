-- Rollout step 4: before the first replica of this version. The columns of deliveries, and dead letters.
-- Old replicas: go on, and send what they commit themselves; replicas of this version send it too, so during a rollout an event may come twice.
-- Locks: push_notification_configs, while its indexes are built, about a second per million.
-- CURRENT_TIMESTAMP is one value for all rows, which adds the columns without a rewrite; clock_timestamp() would rewrite.

ALTER TABLE "push_notification_configs"
    ADD COLUMN "origin" TEXT COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN "position" INTEGER NOT NULL DEFAULT 0,
    ADD COLUMN "status" TEXT COLLATE "C" NOT NULL DEFAULT 'active',
    ADD COLUMN "due_at" TIMESTAMPTZ(3) DEFAULT CURRENT_TIMESTAMP,
    ADD COLUMN "holder" TEXT COLLATE "C",
    ADD COLUMN "claim" INTEGER NOT NULL DEFAULT 0,
    ADD COLUMN "attempts" INTEGER NOT NULL DEFAULT 0,
    ADD COLUMN "failing_since" TIMESTAMPTZ(3),
    ADD COLUMN "last_error" TEXT,
    ADD COLUMN "body_seq" INTEGER,
    ADD COLUMN "body" TEXT,
    ADD COLUMN "changed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP;

ALTER TABLE "push_notification_configs"
    ALTER COLUMN "due_at" SET DEFAULT clock_timestamp(),
    ALTER COLUMN "changed_at" SET DEFAULT clock_timestamp();

CREATE INDEX "push_notification_configs_due_at_idx" ON "push_notification_configs"("due_at") WHERE "due_at" IS NOT NULL;

CREATE INDEX "push_notification_configs_disabled_idx" ON "push_notification_configs"("task_id", "config_id") WHERE "status" = 'disabled';

CREATE TABLE "push_dead_letters" (
    "task_id" TEXT COLLATE "C" NOT NULL,
    "config_id" TEXT COLLATE "C" NOT NULL,
    "seq" INTEGER NOT NULL,
    "tenant" TEXT COLLATE "C" NOT NULL,
    "owner" TEXT COLLATE "C" NOT NULL,
    "attempts" INTEGER NOT NULL,
    "error" TEXT NOT NULL,
    "body" TEXT NOT NULL,
    "content_type" TEXT COLLATE "C" NOT NULL,
    "died_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "due_at" TIMESTAMPTZ(3),
    "holder" TEXT COLLATE "C",
    "claim" INTEGER NOT NULL DEFAULT 0,
    "delivered_at" TIMESTAMPTZ(3),

    CONSTRAINT "push_dead_letters_pkey" PRIMARY KEY ("task_id", "config_id", "seq")
);

CREATE INDEX "push_dead_letters_died_at_delivered_at_idx" ON "push_dead_letters"("died_at", "delivered_at");

CREATE INDEX "push_dead_letters_due_at_idx" ON "push_dead_letters"("due_at") WHERE "due_at" IS NOT NULL;
