import type {
  addPasskeyAnswer,
  getSecondFactorAnswer,
  installationAnswer,
  keySchema,
  linkSchema,
  meSchema,
  passkeySchema,
  planSchema,
  secondFactorAwaitedAnswer,
  sessionSchema,
  signInAnswer,
  tokenSchema,
} from '@prepaint/contract/api/account.ts'
import type { AuditEntryView, listAuditAnswer } from '@prepaint/contract/api/audit.ts'
import type { BrandingView } from '@prepaint/contract/api/branding.ts'
import type { purgedSchema } from '@prepaint/contract/api/cache.ts'
import type { certificateViewSchema } from '@prepaint/contract/api/certificate.ts'
import type { checklistSchema } from '@prepaint/contract/api/checklist.ts'
import type { devicesSchema } from '@prepaint/contract/api/devices.ts'
import type { dnsStateSchema, domainCheckSchema } from '@prepaint/contract/api/dns.ts'
import type {
  domainSchema,
  domainWithSettingsSchema,
  egressSchema,
  settingsSchema,
} from '@prepaint/contract/api/domain.ts'
import type {
  integrationAnswer,
  listIntegrationsAnswer,
  siteTokenAnswer,
} from '@prepaint/contract/api/fronts.ts'
import type { factsSchema, inspectionSchema, pageDetailsSchema } from '@prepaint/contract/api/inspection.ts'
import type {
  enteredAccountSchema,
  invitationSchema,
  inviteMemberAnswer,
  memberSchema,
} from '@prepaint/contract/api/members.ts'
import type {
  channelsSchema,
  deliverySchema,
  endpointSchema,
  incidentSchema,
  reportSchema,
} from '@prepaint/contract/api/notifications.ts'
import type {
  accountInListSchema,
  createResetLinkAnswer,
  fleetFailuresSchema,
  fleetQueueSchema,
  fleetSchema,
  personInListSchema,
} from '@prepaint/contract/api/operator.ts'
import type { OwnAccountView } from '@prepaint/contract/api/own-account.ts'
import type { listedPageSchema, listPagesAnswer, PAGE_ORDERS } from '@prepaint/contract/api/pages.ts'
import type {
  BulkResult,
  ImportLine,
  PortfolioDomain,
  portfolioAnswer,
} from '@prepaint/contract/api/portfolio.ts'
import type { completeSchema, renderSchema } from '@prepaint/contract/api/renders.ts'
import type { MonthlyReport } from '@prepaint/contract/api/reports.ts'
import type { ruleTrySchema } from '@prepaint/contract/api/rule-tries.ts'
import type { createShareLinkAnswer, SharedView, ShareLinkView } from '@prepaint/contract/api/share-links.ts'
import type {
  indexNowSchema,
  redirectSchema,
  robotsSchema,
  versionSchema,
  versionWithContentSchema,
} from '@prepaint/contract/api/site-files.ts'
import type { listTagsAnswer } from '@prepaint/contract/api/tags.ts'
import type { Template } from '@prepaint/contract/api/templates.ts'
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

export type Portfolio = z.infer<typeof portfolioAnswer>
export type Tag = z.infer<typeof listTagsAnswer>['tags'][number]
export type { BulkResult, ImportLine, PortfolioDomain, Template }
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
export type Installation = z.infer<typeof installationAnswer>
export type MadeLink = z.infer<typeof createResetLinkAnswer>
export type Me = z.infer<typeof meSchema>
export type SignedInView = z.infer<typeof signInAnswer>
export type SignInLink = z.infer<typeof linkSchema>
export type Session = z.infer<typeof sessionSchema>
export type SecondFactorAwaited = z.infer<typeof secondFactorAwaitedAnswer>['second_factor']
/** A session, or the second step that is awaited. */
export type SignInAnswer = SignedInView | z.infer<typeof secondFactorAwaitedAnswer>
export type SecondFactor = z.infer<typeof getSecondFactorAnswer>
export type Passkey = z.infer<typeof passkeySchema>
export type AddedPasskey = z.infer<typeof addPasskeyAnswer>
export type Domain = z.infer<typeof domainSchema>
export type DomainWithSettings = z.infer<typeof domainWithSettingsSchema>
export type Settings = z.infer<typeof settingsSchema>
export type SiteToken = NonNullable<z.infer<typeof siteTokenAnswer>['site_token']>
export type Integration = z.infer<typeof integrationAnswer>
export type IntegrationSummary = z.infer<typeof listIntegrationsAnswer>['integrations'][number]

export type Checklist = z.infer<typeof checklistSchema>
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
export type AuditEntry = AuditEntryView
export type AuditList = z.infer<typeof listAuditAnswer>
export type OwnAccount = OwnAccountView
export type ShareLink = ShareLinkView
export type MadeShareLink = z.infer<typeof createShareLinkAnswer>
export type Shared = SharedView
export type Branding = BrandingView
export type { MonthlyReport }
export type ApiKey = z.infer<typeof keySchema>
export type WebhookToken = z.infer<typeof tokenSchema>
export type AccountInList = z.infer<typeof accountInListSchema>
export type Member = z.infer<typeof memberSchema>
export type Invitation = z.infer<typeof invitationSchema>
export type InvitedMember = z.infer<typeof inviteMemberAnswer>
export type EnteredAccount = z.infer<typeof enteredAccountSchema>
export type PersonInList = z.infer<typeof personInListSchema>
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
