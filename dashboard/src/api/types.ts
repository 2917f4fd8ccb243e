/** Type imports only: no server code is bundled. */

import type { linkSchema } from '@prepaint/api/account/links.ts'
import type { planSchema } from '@prepaint/api/account/plan.ts'
import type { keySchema, tokenSchema } from '@prepaint/api/account/secrets.ts'
import type { sessionSchema } from '@prepaint/api/account/sessions.ts'
import type { purgedSchema } from '@prepaint/api/cache/cache.ts'
import type { queuedJobSchema } from '@prepaint/api/cache/jobs.ts'
import type { warmSchema } from '@prepaint/api/cache/warm.ts'
import type { certificateViewSchema } from '@prepaint/api/domains/certificate.ts'
import type { devicesSchema } from '@prepaint/api/domains/devices.ts'
import type { dnsStateSchema, domainCheckSchema } from '@prepaint/api/domains/dns.ts'
import type { egressSchema } from '@prepaint/api/domains/egress.ts'
import type { completeSchema, renderSchema } from '@prepaint/api/domains/renders.ts'
import type { ruleTrySchema } from '@prepaint/api/domains/rule-tries.ts'
import type { channelsSchema } from '@prepaint/api/notifications/notifications.ts'
import type { accountInListSchema, createdLinkSchema } from '@prepaint/api/operator/accounts.ts'
import type { fleetSchema } from '@prepaint/api/operator/nodes.ts'
import type { fleetFailuresSchema, fleetQueueSchema } from '@prepaint/api/operator/queue.ts'
import type { pageDetailsSchema } from '@prepaint/api/pages/inspection.ts'
import type { listedPageSchema } from '@prepaint/api/pages/pages.ts'
import type {
  indexNowSchema,
  redirectSchema,
  robotsSchema,
  versionSchema,
  versionWithContentSchema,
} from '@prepaint/api/site-files/site-files.ts'
import type { summaryWithRendersSchema } from '@prepaint/api/traffic/traffic.ts'
import type { meSchema } from '@prepaint/contract/api/account-schema.ts'
import type {
  domainSchema,
  domainWithSettingsSchema,
  settingsSchema,
} from '@prepaint/contract/api/domain-schema.ts'
import type { factsSchema, inspectionSchema } from '@prepaint/contract/api/inspection-schema.ts'
import type {
  complianceSchema,
  monthOfRendersSchema,
  trafficPathsSchema,
  trafficSchema,
} from '@prepaint/contract/api/traffic-schema.ts'
import type { LiveEvent as Event } from '@prepaint/contract/events/event.ts'
import type { PAGE_ORDERS } from '@prepaint/pages/store/list-pages.ts'
import type { z } from 'zod'

export type { Delivery } from '@prepaint/service/notifications/delivery/deliveries.ts'
export type { Endpoint } from '@prepaint/service/notifications/delivery/endpoints.ts'
export type { Report } from '@prepaint/service/notifications/delivery/report.ts'
export type { Incident } from '@prepaint/service/notifications/incidents/incidents.ts'
export type Channels = z.infer<typeof channelsSchema>
export type { PageVariant } from '@prepaint/contract/page/page-id.ts'
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
