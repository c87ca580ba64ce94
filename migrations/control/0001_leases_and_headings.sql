CREATE TABLE `fetcher_signatures` (
	`mac` text PRIMARY KEY NOT NULL,
	`until` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `fetcher_signatures_until` ON `fetcher_signatures` (`until`);--> statement-breakpoint
ALTER TABLE `connections` ADD `asked_ranges` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `connections` ADD `widened_at` integer;--> statement-breakpoint
ALTER TABLE `connections` ADD `widened_before` integer;--> statement-breakpoint
ALTER TABLE `exports` ADD `headings` text DEFAULT 'api' NOT NULL;