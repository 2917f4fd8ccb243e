// Who may do what: the only place that says it. The API asks it for every route, and the dashboard for what it shows.

import type { SharePart } from './share-parts.ts'

/** Each role may do all that the roles before it may do. */
export const ROLES = ['client', 'viewer', 'editor', 'admin', 'owner'] as const

export type Role = (typeof ROLES)[number]

/** Members with these roles can be limited to named domains. A client always is. */
export const LIMITED_ROLES: readonly Role[] = ['client', 'viewer', 'editor']

/** What an API key may do. `write` does not include `read`. */
export const RIGHTS = ['read', 'refresh', 'write'] as const

export type Right = (typeof RIGHTS)[number]

type ActionRow = {
  /** The lowest role that may do it. */
  role: Role
  /** The right that an API key needs. Null: keys cannot do it. */
  right: Right | null
  /** Keys with this right get as far as the route, which asks for more: `BULK_NEEDS`. */
  orRight?: Right
  /** It concerns the whole account, so who is limited to named domains cannot do it. */
  isAccountWide?: true
  /** Share links that have this part may do it; `every`: all of them. Absent: none. */
  share?: SharePart | 'every'
  /** A person must have signed in, or proved again who it is, a short time ago. */
  isFresh?: true
}

/** By the `operationId` of the route. */
export const ACTIONS = {
  listDomains: { role: 'client', right: 'read', share: 'every' },
  getPortfolio: { role: 'client', right: 'read', share: 'overview' },
  getDomain: { role: 'client', right: 'read', share: 'every' },
  getTraffic: { role: 'client', right: 'read', share: 'traffic' },
  getTrafficPaths: { role: 'client', right: 'read', share: 'traffic' },
  getCompliance: { role: 'client', right: 'read', share: 'traffic' },
  getTrafficOfAccount: { role: 'client', right: 'read', share: 'traffic' },
  listTrafficSummaries: { role: 'client', right: 'read', share: 'traffic' },
  listPages: { role: 'client', right: 'read', share: 'pages' },
  getPageDetails: { role: 'client', right: 'read', share: 'pages' },
  listIncidents: { role: 'client', right: 'read', share: 'incidents' },
  getReport: { role: 'client', right: 'read', share: 'report' },
  getMonthlyReport: { role: 'client', right: 'read', share: 'report' },
  getBranding: { role: 'client', right: 'read', share: 'every' },
  followEvents: { role: 'client', right: 'read', share: 'every' },
  leaveAccount: { role: 'client', right: null },

  getUnrecognisedClients: { role: 'viewer', right: 'read' },
  getMonthOfRenders: { role: 'viewer', right: 'read' },
  getDevices: { role: 'viewer', right: 'read' },
  getChecklist: { role: 'viewer', right: 'read' },
  getDns: { role: 'viewer', right: 'read' },
  getProof: { role: 'viewer', right: 'read' },
  listDns: { role: 'viewer', right: 'read' },
  listTags: { role: 'viewer', right: 'read' },
  listTemplates: { role: 'viewer', right: 'read' },
  getEgress: { role: 'viewer', right: 'read' },
  getCertificate: { role: 'viewer', right: 'read' },
  listRenders: { role: 'viewer', right: 'read' },
  getRuleTry: { role: 'viewer', right: 'read' },
  getRuleTryPicture: { role: 'viewer', right: 'read' },
  readPageSource: { role: 'viewer', right: 'read' },
  getInspection: { role: 'viewer', right: 'read' },
  getInspectionPicture: { role: 'viewer', right: 'read' },
  getWarm: { role: 'viewer', right: 'read' },
  listCachedPages: { role: 'viewer', right: 'read' },
  cacheStats: { role: 'viewer', right: 'read' },
  getJob: { role: 'viewer', right: 'read' },
  listRedirects: { role: 'viewer', right: 'read' },
  getRobots: { role: 'viewer', right: 'read' },
  getIndexNow: { role: 'viewer', right: 'read' },
  listVersions: { role: 'viewer', right: 'read' },
  getVersion: { role: 'viewer', right: 'read' },
  testRobots: { role: 'viewer', right: 'read' },
  getPlan: { role: 'viewer', right: 'read' },
  getNotifications: { role: 'viewer', right: 'read' },
  listIntegrations: { role: 'viewer', right: 'read' },
  getIntegration: { role: 'viewer', right: 'read' },
  getSiteToken: { role: 'viewer', right: 'read' },
  listTokens: { role: 'viewer', right: 'read' },
  listMembers: { role: 'viewer', right: 'read' },
  getAccount: { role: 'viewer', right: 'read' },

  purge: { role: 'editor', right: 'refresh' },
  purgeAll: { role: 'editor', right: 'refresh' },
  refresh: { role: 'editor', right: 'refresh' },
  refreshAll: { role: 'editor', right: 'refresh' },
  purgePages: { role: 'editor', right: 'refresh' },
  refreshPages: { role: 'editor', right: 'refresh' },
  rerenderPages: { role: 'editor', right: 'refresh' },
  createInspection: { role: 'editor', right: 'refresh' },
  tryRules: { role: 'editor', right: 'refresh' },
  checkDevices: { role: 'editor', right: 'refresh' },
  checkIntegration: { role: 'editor', right: 'refresh' },
  checkDns: { role: 'editor', right: 'refresh' },
  bulk: { role: 'editor', right: 'refresh', orRight: 'write' },
  startWarm: { role: 'editor', right: 'refresh' },
  changeWarm: { role: 'editor', right: 'refresh' },
  cancelWarm: { role: 'editor', right: 'refresh' },

  updateDomain: { role: 'editor', right: 'write' },
  replaceTags: { role: 'editor', right: 'write' },
  hideChecklist: { role: 'editor', right: 'write' },
  updateIncident: { role: 'editor', right: 'write' },
  createTemplate: { role: 'editor', right: 'write' },
  updateTemplate: { role: 'editor', right: 'write' },
  deleteTemplate: { role: 'editor', right: 'write' },
  previewTemplate: { role: 'editor', right: 'write' },
  replaceRedirects: { role: 'editor', right: 'write' },
  putCertificate: { role: 'editor', right: 'write' },
  deleteCertificate: { role: 'editor', right: 'write' },
  checkProof: { role: 'editor', right: 'write' },
  restoreVersion: { role: 'editor', right: 'write' },
  createDomain: { role: 'editor', right: 'write', isAccountWide: true },
  checkDomain: { role: 'editor', right: 'write', isAccountWide: true },
  importDomains: { role: 'editor', right: 'write', isAccountWide: true },
  putNotifications: { role: 'editor', right: 'write', isAccountWide: true },

  createToken: { role: 'editor', right: null },
  revokeToken: { role: 'editor', right: null },
  createSiteToken: { role: 'editor', right: null },
  deleteSiteToken: { role: 'editor', right: null },
  listShareLinks: { role: 'editor', right: null },
  createShareLink: { role: 'editor', right: null },
  revokeShareLink: { role: 'editor', right: null },

  // API keys do it without.
  deleteDomain: { role: 'admin', right: 'write', isFresh: true },
  listEndpoints: { role: 'admin', right: 'read', isAccountWide: true },
  createEndpoint: { role: 'admin', right: 'write', isAccountWide: true },
  updateEndpoint: { role: 'admin', right: 'write', isAccountWide: true },
  deleteEndpoint: { role: 'admin', right: 'write', isAccountWide: true },
  listDeliveries: { role: 'admin', right: 'read', isAccountWide: true },
  testEndpoint: { role: 'admin', right: 'write', isAccountWide: true },
  replayDelivery: { role: 'admin', right: 'write', isAccountWide: true },

  listAudit: { role: 'admin', right: null },
  listKeys: { role: 'admin', right: null },
  createKey: { role: 'admin', right: null, isFresh: true },
  revokeKey: { role: 'admin', right: null },
  listInvitations: { role: 'admin', right: null },
  inviteMember: { role: 'admin', right: null },
  resendInvitation: { role: 'admin', right: null },
  revokeInvitation: { role: 'admin', right: null },
  updateMember: { role: 'admin', right: null, isFresh: true },
  removeMember: { role: 'admin', right: null, isFresh: true },
  endSessionsOfMember: { role: 'admin', right: null },

  changeAccount: { role: 'admin', right: null },
  changeBranding: { role: 'admin', right: null },
  putLogo: { role: 'admin', right: null },
  deleteLogo: { role: 'admin', right: null },

  updatePolicy: { role: 'owner', right: null, isFresh: true },
  transferAccount: { role: 'owner', right: null, isFresh: true },
  exportAccount: { role: 'owner', right: null, isFresh: true },
  requestDeletion: { role: 'owner', right: null, isFresh: true },
  cancelDeletion: { role: 'owner', right: null, isFresh: true },
} as const satisfies Record<string, ActionRow>

export type Action = keyof typeof ACTIONS

/** What each action of `POST /api/bulk` needs: what it needs for one domain. */
export const BULK_NEEDS = {
  warm: 'startWarm',
  rerender: 'rerenderPages',
  purge: 'purgePages',
  tag: 'replaceTags',
  template: 'updateDomain',
  pause: 'updateDomain',
  resume: 'updateDomain',
} as const satisfies Record<string, Action>

export type BulkAction = keyof typeof BULK_NEEDS

export function actionRow(action: Action): ActionRow {
  return ACTIONS[action]
}

export function isAction(operationId: unknown): operationId is Action {
  return typeof operationId === 'string' && Object.hasOwn(ACTIONS, operationId)
}

/** Whether `role` may do all that `needs` may do. */
export function hasRole(role: Role, needs: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needs)
}

/** Whether a share link with these parts may do it. */
export function mayShare(parts: readonly SharePart[], action: Action): boolean {
  const { share } = actionRow(action)
  return share === 'every' || (share !== undefined && parts.includes(share))
}

/** Whether a member may do it, for the domains that the member is not limited away from. */
export function mayDo(role: Role, action: Action, isLimited: boolean): boolean {
  const { role: needs, isAccountWide = false } = actionRow(action)
  return hasRole(role, needs) && !(isLimited && isAccountWide)
}
