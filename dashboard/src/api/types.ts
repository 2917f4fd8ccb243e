/** Type imports only: no server code is bundled. */
import type { z } from 'zod'

import type { meSchema } from '../../../src/api/account/account-schema.ts'
import type { linkSchema } from '../../../src/api/account/links.ts'
import type { planSchema } from '../../../src/api/account/plan.ts'
import type { keySchema, tokenSchema } from '../../../src/api/account/secrets.ts'
import type { sessionSchema } from '../../../src/api/account/sessions.ts'
import type { purgedSchema } from '../../../src/api/cache/cache.ts'
import type { queuedJobSchema } from '../../../src/api/cache/jobs.ts'
import type { warmSchema } from '../../../src/api/cache/warm.ts'
import type { certificateViewSchema } from '../../../src/api/domains/certificate.ts'
import type { devicesSchema } from '../../../src/api/domains/devices.ts'
import type { dnsStateSchema, domainCheckSchema } from '../../../src/api/domains/dns.ts'
import type {
  domainSchema,
  domainWithSettingsSchema,
  settingsSchema,
} from '../../../src/api/domains/domain-schema.ts'
import type { egressSchema } from '../../../src/api/domains/egress.ts'
import type { completeSchema, renderSchema } from '../../../src/api/domains/renders.ts'
import type { ruleTrySchema } from '../../../src/api/domains/rule-tries.ts'
import type { channelsSchema } from '../../../src/api/notifications/notifications.ts'
import type { accountInListSchema, createdLinkSchema } from '../../../src/api/operator/accounts.ts'
import type { fleetSchema } from '../../../src/api/operator/nodes.ts'
import type { fleetFailuresSchema, fleetQueueSchema } from '../../../src/api/operator/queue.ts'
import type { pageDetailsSchema } from '../../../src/api/pages/inspection.ts'
import type { factsSchema, inspectionSchema } from '../../../src/api/pages/inspection-schema.ts'
import type { listedPageSchema } from '../../../src/api/pages/pages.ts'
import type {
  indexNowSchema,
  redirectSchema,
  robotsSchema,
  versionSchema,
  versionWithContentSchema,
} from '../../../src/api/site-files/site-files.ts'
import type { summaryWithRendersSchema } from '../../../src/api/traffic/traffic.ts'
import type {
  complianceSchema,
  monthOfRendersSchema,
  trafficPathsSchema,
  trafficSchema,
} from '../../../src/api/traffic/traffic-schema.ts'
import type { LiveEvent as Event } from '../../../src/insight/events/event.ts'
import type { PAGE_ORDERS } from '../../../src/store/list-pages.ts'

export type { Delivery } from '../../../src/notifications/delivery/deliveries.ts'
export type { Endpoint } from '../../../src/notifications/delivery/endpoints.ts'
export type { Report } from '../../../src/notifications/delivery/report.ts'
export type { Incident } from '../../../src/notifications/incidents/incidents.ts'
export type Channels = z.infer<typeof channelsSchema>
export type { PageVariant } from '../../../src/store/page-id.ts'
export type Egress = z.infer<typeof egressSchema>
export type RuleTry = z.infer<typeof ruleTrySchema>
export type LiveEvent = Event
export type Dns = z.infer<typeof dnsStateSchema>
export type DomainCheck = z.infer<typeof domainCheckSchema>
export type Fleet = z.infer<typeof fleetSchema>
export type FleetQueue = z.infer<typeof fleetQueueSchema>
export type FleetFailures = z.infer<typeof fleetFailuresSchema>
export type MadeLink = { link: CreatedLink; mail: 'sent' | 'failed' | 'off' }
export type Me = z.infer<typeof meSchema>
export type SignInLink = z.infer<typeof linkSchema>
export type Session = z.infer<typeof sessionSchema>
export type Domain = z.infer<typeof domainSchema>
export type DomainWithSettings = z.infer<typeof domainWithSettingsSchema>
export type Settings = z.infer<typeof settingsSchema>
export type Certificate = z.infer<typeof certificateViewSchema>
export type Render = z.infer<typeof renderSchema>
export type CompletePages = z.infer<typeof completeSchema>
export type QueuedJob = z.infer<typeof queuedJobSchema>
export type Traffic = z.infer<typeof trafficSchema>
export type Compliance = z.infer<typeof complianceSchema>
export type TrafficPaths = z.infer<typeof trafficPathsSchema>
export type TrafficSummary = z.infer<typeof summaryWithRendersSchema>
export type MonthOfRenders = z.infer<typeof monthOfRendersSchema>
export type Plan = z.infer<typeof planSchema>
export type Purged = z.infer<typeof purgedSchema>
export type ApiKey = z.infer<typeof keySchema>
export type WebhookToken = z.infer<typeof tokenSchema>
export type AccountInList = z.infer<typeof accountInListSchema>
export type CreatedLink = z.infer<typeof createdLinkSchema>
export type Robots = z.infer<typeof robotsSchema>
export type Redirect = z.infer<typeof redirectSchema>
export type IndexNow = z.infer<typeof indexNowSchema>
export type Version = z.infer<typeof versionSchema>
export type VersionWithContent = z.infer<typeof versionWithContentSchema>
export type Warm = z.infer<typeof warmSchema>
export type ListedPage = z.infer<typeof listedPageSchema>
export type PageFacts = z.infer<typeof factsSchema>
export type Inspection = z.infer<typeof inspectionSchema>
export type Devices = z.infer<typeof devicesSchema>
export type PageInspection = z.infer<typeof pageDetailsSchema>
export type PageOrder = (typeof PAGE_ORDERS)[number]
export type PageList = { pages: ListedPage[]; matching: number | null; next: string | null }
