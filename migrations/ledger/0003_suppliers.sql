CREATE TABLE `cfdi_suppliers` (
	`entity` integer NOT NULL,
	`month` text NOT NULL,
	`part` integer NOT NULL,
	`totals` text NOT NULL,
	PRIMARY KEY(`entity`, `month`, `part`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `cfdi_suppliers` (`entity`, `month`, `part`, `totals`)
SELECT entity, month, part, json_group_object(rfc, json_array(invoices, notes, missing, amount)) FROM (
	SELECT entity, substr(fecha, 1, 7) AS month, unicode(substr(emisor_rfc, -1)) % 4 AS part, emisor_rfc AS rfc, sum(tipo_comprobante = 'I') AS invoices,
		sum(tipo_comprobante = 'E') AS notes, sum(total_mxn IS NULL) AS missing,
		cast(coalesce(sum(CASE tipo_comprobante WHEN 'I' THEN total_mxn ELSE -total_mxn END), 0) AS text) AS amount
	FROM cfdi WHERE direction = 1 AND estatus = 'vigente' AND tipo_comprobante IN ('I', 'E') AND kind = 'cfdi' AND emisor_rfc <> receptor_rfc
	GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4)
GROUP BY 1, 2, 3;
