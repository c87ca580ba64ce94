CREATE TABLE `outbox` (
	`fact_id` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`entity` integer NOT NULL,
	`organizations` text,
	`body` text NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `sync_jobs` ADD `first_issued_at` integer;--> statement-breakpoint
ALTER TABLE `sync_jobs` ADD `last_issued_at` integer;