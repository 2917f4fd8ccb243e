import type {
  keySchema,
  linkSchema,
  meSchema,
  planSchema,
  sessionSchema,
  tokenSchema,
} from '@prepaint/contract/api/account.ts'
import type { purgedSchema } from '@prepaint/contract/api/cache.ts'
import type { certificateViewSchema } from '@prepaint/contract/api/certificate.ts'
import type { devicesSchema } from '@prepaint/contract/api/devices.ts'
import type { dnsStateSchema, domainCheckSchema } from '@prepaint/contract/api/dns.ts'
import type {
  domainSchema,
  domainWithSettingsSchema,
  egressSchema,
  settingsSchema,
} from '@prepaint/contract/api/domain.ts'
import type { integrationAnswer } from '@prepaint/contract/api/fronts.ts'
import type { factsSchema, inspectionSchema, pageDetailsSchema } from '@prepaint/contract/api/inspection.ts'
import type {
  channelsSchema,
  deliverySchema,
  endpointSchema,
  incidentSchema,
  reportSchema,
} from '@prepaint/contract/api/notifications.ts'
import type {
  accountInListSchema,
  fleetFailuresSchema,
  fleetQueueSchema,
  fleetSchema,
  inviteAnswer,
} from '@prepaint/contract/api/operator.ts'
import type { listedPageSchema, listPagesAnswer, PAGE_ORDERS } from '@prepaint/contract/api/pages.ts'
import type { completeSchema, renderSchema } from '@prepaint/contract/api/renders.ts'
import type { ruleTrySchema } from '@prepaint/contract/api/rule-tries.ts'
import type {
  indexNowSchema,
  redirectSchema,
  robotsSchema,
  versionSchema,
  versionWithContentSchema,
} from '@prepaint/contract/api/site-files.ts'
import type {
  complianceSchema,
  monthOfRendersSchema,
  summaryWithRendersSchema,
  trafficPathsSchema,
  trafficSchema,
  unrecognisedClientsSchema,
} from '@prepaint/contract/api/traffic.ts'
import type { warmSchema } from '@prepaint/contract/api/warm.ts'
import type { LiveEvent } from '@prepaint/contract/events/event.ts'
import type { z } from 'zod'

export type Delivery = z.infer<typeof deliverySchema>
export type Endpoint = z.infer<typeof endpointSchema>
export type Report = z.infer<typeof reportSchema>
export type Incident = z.infer<typeof incidentSchema>
export type Channels = z.infer<typeof channelsSchema>
export type { PageVariant } from '@prepaint/contract/page/page-id.ts'
export type Egress = z.infer<typeof egressSchema>
export type RuleTry = z.infer<typeof ruleTrySchema>
export type { LiveEvent }
export type Dns = z.infer<typeof dnsStateSchema>
export type DomainCheck = z.infer<typeof domainCheckSchema>
export type Fleet = z.infer<typeof fleetSchema>
export type FleetQueue = z.infer<typeof fleetQueueSchema>
export type FleetFailures = z.infer<typeof fleetFailuresSchema>
export type MadeLink = z.infer<typeof inviteAnswer>
export type Me = z.infer<typeof meSchema>
export type SignInLink = z.infer<typeof linkSchema>
export type Session = z.infer<typeof sessionSchema>
export type Domain = z.infer<typeof domainSchema>
export type DomainWithSettings = z.infer<typeof domainWithSettingsSchema>
export type Settings = z.infer<typeof settingsSchema>
export type Integration = z.infer<typeof integrationAnswer>

export type Certificate = z.infer<typeof certificateViewSchema>
export type Render = z.infer<typeof renderSchema>
export type CompletePages = z.infer<typeof completeSchema>
export type Traffic = z.infer<typeof trafficSchema>
export type Compliance = z.infer<typeof complianceSchema>
export type TrafficPaths = z.infer<typeof trafficPathsSchema>
export type TrafficSummary = z.infer<typeof summaryWithRendersSchema>
export type UnrecognisedClients = z.infer<typeof unrecognisedClientsSchema>
export type UnrecognisedClient = UnrecognisedClients['clients'][number]
export type MonthOfRenders = z.infer<typeof monthOfRendersSchema>
export type Plan = z.infer<typeof planSchema>
export type Purged = z.infer<typeof purgedSchema>
export type ApiKey = z.infer<typeof keySchema>
export type WebhookToken = z.infer<typeof tokenSchema>
export type AccountInList = z.infer<typeof accountInListSchema>
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
export type PageList = z.infer<typeof listPagesAnswer>
