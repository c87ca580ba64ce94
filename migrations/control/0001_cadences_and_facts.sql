CREATE TABLE `tick_pages` (
	`timezone` text NOT NULL,
	`day` text NOT NULL,
	`cadence` text NOT NULL,
	`due_day` text NOT NULL,
	`instant` integer NOT NULL,
	`after` text NOT NULL,
	`is_done` integer NOT NULL,
	PRIMARY KEY(`timezone`, `day`, `cadence`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `tick_pages_open` ON `tick_pages` (`instant`) WHERE is_done = 0;--> statement-breakpoint
CREATE TABLE `zones` (
	`timezone` text PRIMARY KEY NOT NULL,
	`evaluated_day` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `outbox` (
	`fact_id` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`entity` integer NOT NULL,
	`organizations` text,
	`body` text NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `runs` ADD `local_date` text;--> statement-breakpoint
CREATE INDEX `runs_extractor` ON `runs` (`extractor_id`,`run_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `runs_local_date` ON `runs` (`extractor_id`,`local_date`) WHERE local_date is not null;--> statement-breakpoint
CREATE INDEX `extractors_due` ON `extractors` (`timezone`,`cadence`,`extractor_id`) WHERE is_enabled = 1 and cadence is not null;--> statement-breakpoint
INSERT INTO `zones` (`timezone`, `evaluated_day`) SELECT `timezone`, max(`armed_day`) FROM `extractors` WHERE is_enabled = 1 and cadence is not null GROUP BY `timezone`;
