import { Stack } from '@mantine/core'
import { useSearchParams } from 'wouter'
import type { DomainWithSettings } from '../../api/types.ts'
import { Tabs } from '../../parts/tabs.tsx'
import { type SiteFilesView, siteFilesPath } from '../../route-map.ts'
import { Redirects } from './redirects.tsx'
import { Robots } from './robots.tsx'
import { Sitemap } from './sitemap.tsx'

type View = React.ComponentType<{ domain: DomainWithSettings }>

const VIEWS = [
  { view: 'robots', title: 'robots.txt', View: Robots },
  { view: 'redirects', title: 'Redirects', View: Redirects },
  { view: 'sitemap', title: 'Sitemap and IndexNow', View: Sitemap },
] as const satisfies readonly { view: SiteFilesView; title: string; View: View }[]

export default function SiteFiles({ domain }: { domain: DomainWithSettings }) {
  const [params] = useSearchParams()
  const shown = VIEWS.find(({ view }) => view === params.get('view')) ?? VIEWS[0]
  return (
    <Stack gap="lg">
      <Tabs
        label="Site files"
        tabs={VIEWS.map(({ view, title }) => ({
          title,
          href: siteFilesPath(domain.custom_domain, view),
          isShown: view === shown.view,
        }))}
      />
      <shown.View domain={domain} />
    </Stack>
  )
}
