import IconAlertTriangle from '@tabler/icons-react/dist/esm/icons/IconAlertTriangle.mjs'
import IconBell from '@tabler/icons-react/dist/esm/icons/IconBell.mjs'
import IconBook from '@tabler/icons-react/dist/esm/icons/IconBook.mjs'
import IconChartLine from '@tabler/icons-react/dist/esm/icons/IconChartLine.mjs'
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
import IconUserCircle from '@tabler/icons-react/dist/esm/icons/IconUserCircle.mjs'
import IconUsers from '@tabler/icons-react/dist/esm/icons/IconUsers.mjs'
import IconWorld from '@tabler/icons-react/dist/esm/icons/IconWorld.mjs'

import { type DomainRoute, ROUTES } from '../route-map.ts'

export type Icon = typeof IconWorld

export const SCREENS: readonly { title: string; to: string; Icon: Icon; group?: 'Operator' | 'Reference' }[] =
  [
    { title: 'Domains', to: ROUTES.domains, Icon: IconWorld },
    { title: 'Traffic', to: ROUTES.traffic, Icon: IconChartLine },
    { title: 'Incidents', to: ROUTES.incidents, Icon: IconBell },
    { title: 'Notifications', to: ROUTES.notifications, Icon: IconMail },
    { title: 'API keys', to: ROUTES.keys, Icon: IconKey },
    { title: 'Plan', to: ROUTES.plan, Icon: IconCreditCard },
    { title: 'Account', to: ROUTES.account, Icon: IconUserCircle },
    { title: 'Accounts', to: ROUTES.operatorAccounts, Icon: IconUsers, group: 'Operator' },
    { title: 'Nodes', to: ROUTES.operatorNodes, Icon: IconServer, group: 'Operator' },
    { title: 'Queue', to: ROUTES.operatorQueue, Icon: IconListDetails, group: 'Operator' },
    { title: 'Failures', to: ROUTES.operatorFailures, Icon: IconAlertTriangle, group: 'Operator' },
    { title: 'API reference', to: '/docs', Icon: IconBook, group: 'Reference' },
  ]

export const DOMAIN_TABS: readonly { title: string; route: DomainRoute; Icon: Icon }[] = [
  { title: 'Overview', route: 'domain', Icon: IconLayoutDashboard },
  { title: 'Traffic', route: 'domainTraffic', Icon: IconChartLine },
  { title: 'Cache', route: 'domainCache', Icon: IconDatabase },
  { title: 'Renders', route: 'domainRenders', Icon: IconHistory },
  { title: 'Site files', route: 'domainSiteFiles', Icon: IconFiles },
  { title: 'Crawlers', route: 'domainCrawlers', Icon: IconRobot },
  { title: 'Settings', route: 'domainSettings', Icon: IconSettings },
]
