-- Rollout step 4: before the first replica of this version. The columns of deliveries, and dead letters.
-- Old replicas: go on, and send what they commit themselves; replicas of this version send it too, so during a rollout an event may come twice.
-- Locks: push_notification_configs for a moment; its index is built beside reads and writes. DDL commits at once on MySQL: after a failure drop what is there, then resolve.
-- The server adds the columns without a rewrite where it can; CURRENT_TIMESTAMP is one value for all rows there are.

ALTER TABLE `push_notification_configs`
    ADD COLUMN `origin` VARCHAR(300) NOT NULL DEFAULT '',
    ADD COLUMN `position` INTEGER NOT NULL DEFAULT 0,
    ADD COLUMN `status` VARCHAR(16) NOT NULL DEFAULT 'active',
    ADD COLUMN `due_at` DATETIME(3) NULL DEFAULT CURRENT_TIMESTAMP(3),
    ADD COLUMN `holder` VARCHAR(191) NULL,
    ADD COLUMN `claim` INTEGER NOT NULL DEFAULT 0,
    ADD COLUMN `attempts` INTEGER NOT NULL DEFAULT 0,
    ADD COLUMN `failing_since` DATETIME(3) NULL,
    ADD COLUMN `last_error` LONGTEXT NULL,
    ADD COLUMN `body_seq` INTEGER NULL,
    ADD COLUMN `body` LONGTEXT NULL,
    ADD COLUMN `changed_at` DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3);

ALTER TABLE `push_notification_configs`
    ADD INDEX `push_notification_configs_status_due_at_idx` (`status`, `due_at`),
    ALGORITHM = INPLACE, LOCK = NONE;

CREATE TABLE `push_dead_letters` (
    `task_id` VARCHAR(191) NOT NULL,
    `config_id` VARCHAR(191) NOT NULL,
    `seq` INTEGER NOT NULL,
    `tenant` VARCHAR(191) NOT NULL,
    `owner` VARCHAR(191) NOT NULL,
    `attempts` INTEGER NOT NULL,
    `error` LONGTEXT NOT NULL,
    `body` LONGTEXT NOT NULL,
    `content_type` VARCHAR(128) NOT NULL,
    `died_at` DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
    `due_at` DATETIME(3) NULL,
    `holder` VARCHAR(191) NULL,
    `claim` INTEGER NOT NULL DEFAULT 0,
    `delivered_at` DATETIME(3) NULL,
    INDEX `push_dead_letters_died_at_delivered_at_idx` (`died_at`, `delivered_at`),
    INDEX `push_dead_letters_due_at_idx` (`due_at`),

    PRIMARY KEY (`task_id`, `config_id`, `seq`)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
