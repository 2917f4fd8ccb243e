import type { Action } from '@prepaint/contract/roles.ts'
import IconAlertTriangle from '@tabler/icons-react/dist/esm/icons/IconAlertTriangle.mjs'
import IconBell from '@tabler/icons-react/dist/esm/icons/IconBell.mjs'
import IconChartLine from '@tabler/icons-react/dist/esm/icons/IconChartLine.mjs'
import IconCreditCard from '@tabler/icons-react/dist/esm/icons/IconCreditCard.mjs'
import IconKey from '@tabler/icons-react/dist/esm/icons/IconKey.mjs'
import IconListDetails from '@tabler/icons-react/dist/esm/icons/IconListDetails.mjs'
import IconMail from '@tabler/icons-react/dist/esm/icons/IconMail.mjs'
import IconReportAnalytics from '@tabler/icons-react/dist/esm/icons/IconReportAnalytics.mjs'
import IconServer from '@tabler/icons-react/dist/esm/icons/IconServer.mjs'
import IconSettings from '@tabler/icons-react/dist/esm/icons/IconSettings.mjs'
import IconUsers from '@tabler/icons-react/dist/esm/icons/IconUsers.mjs'
import IconUsersGroup from '@tabler/icons-react/dist/esm/icons/IconUsersGroup.mjs'
import IconWorld from '@tabler/icons-react/dist/esm/icons/IconWorld.mjs'
import { ROUTES } from '../route-map.ts'

export type Icon = typeof IconWorld

export type Screen = {
  title: string
  to: string
  Icon: Icon
  /** The heading that it stands under. */
  group?: 'Account' | 'Operator'
  /** The screen is hidden from roles that may not do this. */
  needs?: Action
  /** It is a tab of another screen, which stands in the navigation for it. */
  tabOf?: string
  /** What its tab is called, if that is not its title. */
  tabTitle?: string
}

/** All screens but those of a domain. The navigation, the tabs of screens, and Ctrl K are made from it. */
export const SCREENS: readonly Screen[] = [
  { title: 'Sites', to: ROUTES.domains, Icon: IconWorld, needs: 'getPortfolio' },
  {
    title: 'Traffic',
    to: ROUTES.traffic,
    Icon: IconChartLine,
    needs: 'getTrafficOfAccount',
  },
  {
    title: 'Incidents',
    to: ROUTES.incidents,
    Icon: IconBell,
    needs: 'listIncidents',
  },
  { title: 'Reports', to: ROUTES.reports, Icon: IconReportAnalytics, needs: 'getMonthlyReport' },
  {
    title: 'Members',
    to: ROUTES.members,
    Icon: IconUsersGroup,
    group: 'Account',
    needs: 'listMembers',
  },
  {
    title: 'Share links',
    to: ROUTES.shareLinks,
    Icon: IconUsersGroup,
    group: 'Account',
    needs: 'listShareLinks',
    tabOf: ROUTES.members,
  },
  {
    title: 'API keys',
    to: ROUTES.keys,
    Icon: IconKey,
    group: 'Account',
    needs: 'listKeys',
  },
  {
    title: 'Notifications',
    to: ROUTES.notifications,
    Icon: IconMail,
    group: 'Account',
    needs: 'getNotifications',
  },
  {
    title: 'Plan',
    to: ROUTES.plan,
    Icon: IconCreditCard,
    group: 'Account',
    needs: 'getPlan',
  },
  {
    title: 'Settings',
    to: ROUTES.account,
    Icon: IconSettings,
    group: 'Account',
    needs: 'getAccount',
    tabTitle: 'General',
  },
  {
    title: 'Audit log',
    to: ROUTES.auditLog,
    Icon: IconSettings,
    group: 'Account',
    needs: 'listAudit',
    tabOf: ROUTES.account,
  },
  { title: 'Accounts', to: ROUTES.operatorAccounts, Icon: IconUsers, group: 'Operator' },
  { title: 'Nodes', to: ROUTES.operatorNodes, Icon: IconServer, group: 'Operator' },
  {
    title: 'Queue',
    to: ROUTES.operatorQueue,
    Icon: IconListDetails,
    group: 'Operator',
  },
  { title: 'Failures', to: ROUTES.operatorFailures, Icon: IconAlertTriangle, group: 'Operator' },
]

/** A screen of the navigation and those that are tabs of it. */
export function tabsOf(to: string): readonly Screen[] {
  return SCREENS.filter((screen) => screen.to === to || screen.tabOf === to)
}
