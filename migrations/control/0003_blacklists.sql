CREATE TABLE `blacklist_entries` (
	`organization_id` text NOT NULL,
	`source` text NOT NULL,
	`rfc` text NOT NULL,
	`name` text NOT NULL,
	`situacion` text,
	`history` text NOT NULL,
	`seen_on` text,
	PRIMARY KEY(`organization_id`, `source`, `rfc`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `blacklist_lists` (
	`organization_id` text NOT NULL,
	`source` text NOT NULL,
	`version` integer NOT NULL,
	`label` text,
	`digest` text,
	`list_date` text,
	`fetched_at` integer,
	`row_count` integer NOT NULL,
	`refused_digest` text,
	`refused_code` text,
	`refused_detail` text,
	`refused_at` integer,
	PRIMARY KEY(`organization_id`, `source`)
) WITHOUT ROWID;
