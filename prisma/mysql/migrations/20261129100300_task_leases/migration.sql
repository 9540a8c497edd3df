-- Rollout step 2: its own migration, so that it can be looked at alone. Adds task_leases, changes no other table.
-- Old replicas: know nothing of this table and go on.
-- Locks: nothing that exists; it only creates. DDL commits at once on MySQL: after a failure drop what is there, then resolve.
-- The sweeper reads candidates by expires_at.

CREATE TABLE `task_leases` (
    `task_id` VARCHAR(191) NOT NULL,
    `tenant` VARCHAR(191) NOT NULL,
    `owner` VARCHAR(191) NOT NULL,
    `holder` VARCHAR(191) NOT NULL,
    `epoch` INTEGER NOT NULL,
    `pending` BOOLEAN NOT NULL DEFAULT false,
    `acquired_at` DATETIME(3) NOT NULL,
    `expires_at` DATETIME(3) NOT NULL,
    `cancel_requested_at` DATETIME(3) NULL,
    INDEX `task_leases_expires_at_idx` (`expires_at`),

    PRIMARY KEY (`task_id`)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
