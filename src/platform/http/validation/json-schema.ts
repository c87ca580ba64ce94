import * as z from 'zod'

export type JsonSchema = Record<string, unknown>

/** Which side of a schema that transforms its values: what is sent, or what comes of it. */
export type Side = 'input' | 'output'

/** The documented JSON Schema of a zod schema (see `documented` and `documentedAs` of shapes.ts). Schemas with an id stand under `$defs`. */
export function jsonSchemaOf(schema: z.ZodType, side: Side): JsonSchema {
  const definitions: JsonSchema = {}
  const written: JsonSchema = z.toJSONSchema(schema, {
    io: side,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const { documented, description } = (zodSchema as unknown as z.ZodType).meta() ?? {}
      if (!documented) return
      for (const key of Object.keys(jsonSchema)) delete jsonSchema[key as keyof typeof jsonSchema]
      const {
        $schema: _,
        $defs,
        ...shown
      } = (documented instanceof z.ZodType ? jsonSchemaOf(documented, 'input') : documented) as JsonSchema
      Object.assign(definitions, $defs)
      Object.assign(jsonSchema, shown, description && { description })
    },
  })
  if (Object.keys(definitions).length > 0) written['$defs'] = { ...definitions, ...(written['$defs'] as JsonSchema | undefined) }
  return JSON.parse(JSON.stringify(written)) as JsonSchema
}
