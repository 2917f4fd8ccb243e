/**
 * What the HTTP interface sends and takes: the types of the very schemas of its
 * routes, so that they cannot drift. Types only: nothing of the server is
 * bundled.
 */
import type { z } from 'zod'

import type { meSchema } from '../../src/api/account-schema.ts'
import type { certificateViewSchema } from '../../src/api/certificate-schema.ts'
import type { domainSchema, domainWithSettingsSchema, settingsSchema } from '../../src/api/domain-schema.ts'
import type { queuedJobSchema } from '../../src/api/job-schema.ts'
import type { factsSchema, inspectionSchema } from '../../src/api/lens-schema.ts'
import type { listedPageSchema } from '../../src/api/listed-page-schema.ts'
import type { purgedSchema } from '../../src/api/purged-schema.ts'
import type { renderSchema } from '../../src/api/render-schema.ts'
import type { dnsStateSchema, domainCheckSchema } from '../../src/api/routes/domain-dns.ts'
import type { keySchema } from '../../src/api/routes/key-list.ts'
import type { linkSchema } from '../../src/api/routes/link.ts'
import type { accountInListSchema, createdLinkSchema } from '../../src/api/routes/operator-accounts.ts'
import type { fleetSchema } from '../../src/api/routes/operator-nodes.ts'
import type { fleetFailuresSchema, fleetQueueSchema } from '../../src/api/routes/operator-queue.ts'
import type { lensSchema } from '../../src/api/routes/page-lens.ts'
import type { planSchema } from '../../src/api/routes/plan-get.ts'
import type { sessionSchema } from '../../src/api/routes/session-list.ts'
import type { tokenSchema } from '../../src/api/routes/token-list.ts'
import type { summaryWithRendersSchema } from '../../src/api/routes/traffic-of-account.ts'
import type { monthOfRendersSchema, trafficPathsSchema, trafficSchema } from '../../src/api/traffic-schema.ts'
import type { warmSchema } from '../../src/api/warm-schema.ts'
import type { LiveEvent as Event } from '../../src/events/event.ts'
import type { PAGE_ORDERS } from '../../src/pages/list-pages.ts'

export type LiveEvent = Event
export type Dns = z.infer<typeof dnsStateSchema>
export type DomainCheck = z.infer<typeof domainCheckSchema>
export type Fleet = z.infer<typeof fleetSchema>
export type FleetQueue = z.infer<typeof fleetQueueSchema>
export type FleetFailures = z.infer<typeof fleetFailuresSchema>
/** A link that an operator made, and whether it went by mail, too. */
export type MadeLink = { link: CreatedLink; mail: 'sent' | 'failed' | 'off' }
export type Me = z.infer<typeof meSchema>
export type SignInLink = z.infer<typeof linkSchema>
export type Session = z.infer<typeof sessionSchema>
export type Domain = z.infer<typeof domainSchema>
export type DomainWithSettings = z.infer<typeof domainWithSettingsSchema>
export type Settings = z.infer<typeof settingsSchema>
export type Certificate = z.infer<typeof certificateViewSchema>
export type Render = z.infer<typeof renderSchema>
export type QueuedJob = z.infer<typeof queuedJobSchema>
export type Traffic = z.infer<typeof trafficSchema>
export type TrafficPaths = z.infer<typeof trafficPathsSchema>
export type TrafficSummary = z.infer<typeof summaryWithRendersSchema>
export type MonthOfRenders = z.infer<typeof monthOfRendersSchema>
export type Plan = z.infer<typeof planSchema>
export type Purged = z.infer<typeof purgedSchema>
export type ApiKey = z.infer<typeof keySchema>
export type WebhookToken = z.infer<typeof tokenSchema>
export type AccountInList = z.infer<typeof accountInListSchema>
export type CreatedLink = z.infer<typeof createdLinkSchema>
export type Warm = z.infer<typeof warmSchema>
export type ListedPage = z.infer<typeof listedPageSchema>
export type PageFacts = z.infer<typeof factsSchema>
export type Inspection = z.infer<typeof inspectionSchema>
export type Lens = z.infer<typeof lensSchema>
export type PageOrder = (typeof PAGE_ORDERS)[number]
export type PageList = { pages: ListedPage[]; matching: number | null; next: string | null }
