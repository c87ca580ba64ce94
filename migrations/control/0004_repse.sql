CREATE TABLE `repse_records` (
	`rfc` text PRIMARY KEY NOT NULL,
	`name` text,
	`checked_at` integer,
	`is_registered` integer,
	`folio` text,
	`razon_social` text,
	`entidad` text,
	`municipio` text,
	`num_aviso` text,
	`fecha_aviso` text,
	`vigencia_hasta` text,
	`actividades` text,
	`due_at` integer,
	`token` text,
	`attempts` integer NOT NULL,
	`asked_day` text
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `repse_records_due` ON `repse_records` (`due_at`) WHERE due_at is not null;--> statement-breakpoint
CREATE TABLE `repse_rounds` (
	`day` text PRIMARY KEY NOT NULL,
	`instant` integer NOT NULL,
	`after` integer NOT NULL,
	`is_done` integer NOT NULL,
	`moved_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `sandbox_repse_records` (
	`rfc` text PRIMARY KEY NOT NULL,
	`record` text NOT NULL
) WITHOUT ROWID;
