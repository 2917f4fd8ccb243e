import type { Action } from '@prepaint/contract/roles.ts'
import IconAlertTriangle from '@tabler/icons-react/dist/esm/icons/IconAlertTriangle.mjs'
import IconBell from '@tabler/icons-react/dist/esm/icons/IconBell.mjs'
import IconBook from '@tabler/icons-react/dist/esm/icons/IconBook.mjs'
import IconChartLine from '@tabler/icons-react/dist/esm/icons/IconChartLine.mjs'
import IconClipboardList from '@tabler/icons-react/dist/esm/icons/IconClipboardList.mjs'
import IconCreditCard from '@tabler/icons-react/dist/esm/icons/IconCreditCard.mjs'
import IconDatabase from '@tabler/icons-react/dist/esm/icons/IconDatabase.mjs'
import IconFiles from '@tabler/icons-react/dist/esm/icons/IconFiles.mjs'
import IconHistory from '@tabler/icons-react/dist/esm/icons/IconHistory.mjs'
import IconKey from '@tabler/icons-react/dist/esm/icons/IconKey.mjs'
import IconLayoutDashboard from '@tabler/icons-react/dist/esm/icons/IconLayoutDashboard.mjs'
import IconListDetails from '@tabler/icons-react/dist/esm/icons/IconListDetails.mjs'
import IconMail from '@tabler/icons-react/dist/esm/icons/IconMail.mjs'
import IconRobot from '@tabler/icons-react/dist/esm/icons/IconRobot.mjs'
import IconServer from '@tabler/icons-react/dist/esm/icons/IconServer.mjs'
import IconSettings from '@tabler/icons-react/dist/esm/icons/IconSettings.mjs'
import IconShare from '@tabler/icons-react/dist/esm/icons/IconShare.mjs'
import IconShieldLock from '@tabler/icons-react/dist/esm/icons/IconShieldLock.mjs'
import IconUserCircle from '@tabler/icons-react/dist/esm/icons/IconUserCircle.mjs'
import IconUsers from '@tabler/icons-react/dist/esm/icons/IconUsers.mjs'
import IconUsersGroup from '@tabler/icons-react/dist/esm/icons/IconUsersGroup.mjs'
import IconWorld from '@tabler/icons-react/dist/esm/icons/IconWorld.mjs'
import { type DomainRoute, ROUTES } from '../route-map.ts'

export type Icon = typeof IconWorld

export type Screen = {
  title: string
  to: string
  Icon: Icon
  group?: 'Operator' | 'Reference'
  /** The screen is hidden from roles that may not do this. */
  needs?: Action
}

export const SCREENS: readonly Screen[] = [
  { title: 'Sites', to: ROUTES.domains, Icon: IconWorld, needs: 'getPortfolio' },
  { title: 'Traffic', to: ROUTES.traffic, Icon: IconChartLine, needs: 'getTrafficOfAccount' },
  { title: 'Incidents', to: ROUTES.incidents, Icon: IconBell, needs: 'listIncidents' },
  { title: 'Reports', to: ROUTES.reports, Icon: IconFiles, needs: 'getMonthlyReport' },
  { title: 'Notifications', to: ROUTES.notifications, Icon: IconMail, needs: 'getNotifications' },
  { title: 'API keys', to: ROUTES.keys, Icon: IconKey, needs: 'listKeys' },
  { title: 'Members', to: ROUTES.members, Icon: IconUsersGroup, needs: 'listMembers' },
  { title: 'Share links', to: ROUTES.shareLinks, Icon: IconShare, needs: 'listShareLinks' },
  { title: 'Audit log', to: ROUTES.auditLog, Icon: IconClipboardList, needs: 'listAudit' },
  { title: 'Plan', to: ROUTES.plan, Icon: IconCreditCard, needs: 'getPlan' },
  { title: 'Account', to: ROUTES.account, Icon: IconUserCircle },
  { title: 'Security', to: ROUTES.security, Icon: IconShieldLock },
  { title: 'Accounts', to: ROUTES.operatorAccounts, Icon: IconUsers, group: 'Operator' },
  { title: 'Nodes', to: ROUTES.operatorNodes, Icon: IconServer, group: 'Operator' },
  { title: 'Queue', to: ROUTES.operatorQueue, Icon: IconListDetails, group: 'Operator' },
  { title: 'Failures', to: ROUTES.operatorFailures, Icon: IconAlertTriangle, group: 'Operator' },
  { title: 'API reference', to: '/docs', Icon: IconBook, group: 'Reference' },
]

export const DOMAIN_TABS: readonly { title: string; route: DomainRoute; Icon: Icon; needs: Action }[] = [
  { title: 'Overview', route: 'domain', Icon: IconLayoutDashboard, needs: 'getCertificate' },
  { title: 'Traffic', route: 'domainTraffic', Icon: IconChartLine, needs: 'getTraffic' },
  { title: 'Cache', route: 'domainCache', Icon: IconDatabase, needs: 'listPages' },
  { title: 'Renders', route: 'domainRenders', Icon: IconHistory, needs: 'listRenders' },
  { title: 'Site files', route: 'domainSiteFiles', Icon: IconFiles, needs: 'getRobots' },
  { title: 'Crawlers', route: 'domainCrawlers', Icon: IconRobot, needs: 'listVersions' },
  { title: 'Settings', route: 'domainSettings', Icon: IconSettings, needs: 'getRobots' },
]
