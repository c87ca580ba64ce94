import type { DataSourceKey } from '../../../port/catalog.ts'
import type { Family } from '../../operations.ts'
import type { Period } from './periods.ts'

export const FAMILIES: readonly Family[] = ['cfdi', 'retenciones']
export type CfdiSource = Extract<DataSourceKey, 'sat_cfdi_issued' | 'sat_cfdi_received'>
export type RequestKind = 'metadata' | 'xml'

export const REQUEST_STATES = ['planned', 'asked', 'waiting', 'ready', 'stored', 'empty', 'failed', 'replaced'] as const
/**
 * Planned, about to be sent, accepted, with packages, with packages that are in the bucket and read; without documents; given up; with others
 * in its place.
 */
export type RequestState = (typeof REQUEST_STATES)[number]

/** A package of a request. */
export interface RequestPackage {
  /** IdPaquete. */
  id: string
  /** In bytes, once it is in the bucket. */
  size?: number
  /** Downloads that were begun. */
  attempts?: number
  /** Those of them that the authority may have counted: it came, all or a part of it, or nobody knows whether it was sent. */
  deliveries?: number
  /** Of metadata, once it is read: its days. Of its last package: how many documents all of them list, and how much nobody can read or date. */
  rows?: number
  unread?: number
  days?: DayCounts
  /** Of XML, once it is read: the places of the entries whose names no metadata lists. */
  unannounced?: number[]
}

/**
 * The days of the documents that metadata announces and whose XML the authority delivers: how many there are, how many of them are missing,
 * and the first and last time of these.
 */
export type DayCounts = Record<string, readonly [deliverable: number, missing: number, first: string, last: string]>

/** A request for documents, as it is stored. */
export interface AuthorityRequest extends Period {
  /** Its number among those of the taxpayer. */
  n: number
  family: Family
  source: CfdiSource
  kind: RequestKind
  /** The months that it is for, in order. What it brings of other months is not kept. */
  months: string[]
  state: RequestState
  /** IdSolicitud. */
  request_id: string | null
  /** The last answer that was not only "not yet", in the authority's code and words; or what is wrong with what came (SHORT, UNREADABLE, DENIED). */
  code: string | null
  message: string | null
  /** NumeroCFDIs; of metadata without it, how many documents it lists, once it is read. */
  announced: number | null
  packages: RequestPackage[]
  /** When it was sent, in milliseconds; while it is planned, when it may be. */
  asked_at: number
  /** How often it, or the request in whose place it is, was tried. */
  attempts: number
}

/**
 * What can be wrong with what came, as the code of its request: metadata lists fewer documents than were announced, a package is none, or the
 * authority says that it has no documents where it had some.
 */
export const [SHORT, UNREADABLE, DENIED] = ['short', 'unreadable', 'denied'] as const

export const isUnfinished = ({ state }: Pick<AuthorityRequest, 'state'>): boolean =>
  state === 'planned' || state === 'asked' || state === 'waiting' || state === 'ready'

/** Whether a code says that the authority listed less than it has. */
export const saysShort = (code: string | null): boolean => code === SHORT || code === DENIED

/** Whether the authority listed less than it has: then no month of the request is known to be whole. */
export const isShort = ({ kind, code }: AuthorityRequest): boolean => kind === 'metadata' && saysShort(code)

export const isDone = ({ state }: Pick<AuthorityRequest, 'state'>): boolean => state === 'stored' || state === 'empty'

/** Where a package lies in the bucket. */
export const packageKey = (entity: number, n: number, k: number): string => `authority/${entity}/${n}/${k}`

/** A month that somebody waits for. */
export interface WantedMonth {
  source: CfdiSource
  month: string
  /** When it was asked for, by the real clock, in milliseconds. */
  asked_at: number
  /** Whether an earlier download brought everything that the month had. */
  is_complete: boolean
  /** Whether somebody may wait for it: then all of it is asked about again. */
  is_awaited: boolean
}
