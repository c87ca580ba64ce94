import * as z from 'zod'

export type JsonSchema = Record<string, unknown>

/** Which side of a schema that transforms its values: what is sent, or what comes of it. */
export type Side = 'input' | 'output'

/** The documented JSON Schema of a zod schema (see `documented` of shapes.ts). Schemas with an id stand under `$defs`. */
export function jsonSchemaOf(schema: z.ZodType, side: Side): JsonSchema {
  const written = z.toJSONSchema(schema, {
    io: side,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const { documented, description } = (zodSchema as unknown as z.ZodType).meta() ?? {}
      if (!documented) return
      for (const key of Object.keys(jsonSchema)) delete jsonSchema[key as keyof typeof jsonSchema]
      Object.assign(jsonSchema, documented, description && { description })
    },
  })
  return JSON.parse(JSON.stringify(written)) as JsonSchema
}
