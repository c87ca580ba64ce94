import * as z from 'zod'

/** Stands in the Worker for the payloads of events, which only the OpenAPI document shows: no request is held against them. */
export const EventPayload = z.unknown()
