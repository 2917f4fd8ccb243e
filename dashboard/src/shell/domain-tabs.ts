import type { Action } from '@prepaint/contract/roles.ts'
import IconChartLine from '@tabler/icons-react/dist/esm/icons/IconChartLine.mjs'
import IconFiles from '@tabler/icons-react/dist/esm/icons/IconFiles.mjs'
import IconHistory from '@tabler/icons-react/dist/esm/icons/IconHistory.mjs'
import IconLayoutDashboard from '@tabler/icons-react/dist/esm/icons/IconLayoutDashboard.mjs'
import IconSettings from '@tabler/icons-react/dist/esm/icons/IconSettings.mjs'
import type { DomainRoute } from '../route-map.ts'
import type { Icon } from './navigation.ts'

/** The screens of a domain, in their order. */
export const DOMAIN_TABS: readonly {
  title: string
  route: DomainRoute
  Icon: Icon
  needs: Action
  words: string
}[] = [
  {
    title: 'Overview',
    route: 'domain',
    Icon: IconLayoutDashboard,
    needs: 'getPortfolio',
    words: 'state connection DNS',
  },
  {
    title: 'Traffic',
    route: 'domainTraffic',
    Icon: IconChartLine,
    needs: 'getTraffic',
    words: 'visits crawlers charts',
  },
  { title: 'Pages', route: 'domainPages', Icon: IconFiles, needs: 'listPages', words: 'cache stored warm' },
  {
    title: 'Renders',
    route: 'domainRenders',
    Icon: IconHistory,
    needs: 'listRenders',
    words: 'log failed outcomes',
  },
  {
    title: 'Settings',
    route: 'domainSettings',
    Icon: IconSettings,
    needs: 'getRobots',
    words: 'configuration options',
  },
]
