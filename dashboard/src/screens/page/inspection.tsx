import { Anchor, Badge, Button, Group, Stack, Text, Title } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { lensQuery } from '../../api/queries.ts'
import type { DomainWithSettings, Lens } from '../../api/types.ts'
import { OutcomeBadge } from '../../parts/badges.tsx'
import { useTitle } from '../../parts/page.tsx'
import { Loading, Trouble } from '../../parts/states.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { domainPath, type LensView, pagePath } from '../../route-map.ts'
import { PageChange } from '../cache/page-change.tsx'
import { FRESHNESS, size } from '../cache/page-words.ts'
import { LensCompare } from './compare.tsx'
import { LensFacts } from './facts.tsx'
import { LensHistory } from './history.tsx'
import { LensPreview } from './preview.tsx'
import { LensRenders } from './renders.tsx'
import { LensSource } from './source.tsx'

export type LensPart = { domain: DomainWithSettings; lens: Lens }

const VIEWS = [
  { view: 'compare', title: 'Crawlers and people', Screen: LensCompare },
  { view: 'facts', title: 'What it says', Screen: LensFacts },
  { view: 'source', title: 'Source', Screen: LensSource },
  { view: 'renders', title: 'Renders', Screen: LensRenders },
  { view: 'history', title: 'History', Screen: LensHistory },
  { view: 'preview', title: 'Link preview', Screen: LensPreview },
] as const satisfies readonly { view: LensView; title: string; Screen: React.ComponentType<LensPart> }[]

/** One page under the lens. */
export function PageLens({ domain }: { domain: DomainWithSettings }) {
  const name = domain.custom_domain
  const [query] = useSearchParams()
  const path = query.get('path') ?? '/'
  const lens = useQuery(lensQuery(name, path))
  useTitle(`${path} · ${name}`)
  const shown = VIEWS.find(({ view }) => view === query.get('view')) ?? VIEWS[0]
  if (lens.data === undefined) {
    return lens.error === null ? (
      <Loading rows={5} />
    ) : (
      <Trouble error={lens.error} onRetry={() => lens.refetch()} />
    )
  }
  const { Screen } = shown
  return (
    <Stack gap="lg">
      <Head domain={domain} lens={lens.data} />
      <Tabs
        label="This page"
        tabs={VIEWS.map(({ view, title }) => ({
          title,
          href: pagePath(name, path, view),
          isShown: view === shown.view,
        }))}
      />
      <Screen domain={domain} lens={lens.data} />
    </Stack>
  )
}

/** Its name, how it stands, and what can be done with it. */
function Head({ domain, lens: { path, stored, redirect, renders } }: LensPart) {
  const name = domain.custom_domain
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const [changing, setChanging] = useState<'purge' | 'refresh' | null>(null)
  return (
    <Stack gap="xs">
      <Anchor component={Link} href={domainPath('domainCache', name)} size="sm">
        All pages
      </Anchor>
      <Group justify="space-between" align="start" gap="sm">
        <Title order={2} size="h3" className="break" flex={1} miw={220}>
          {path}
        </Title>
        <Group gap="xs">
          <Button
            component="a"
            variant="default"
            href={`https://${name}${path}`}
            target="_blank"
            rel="noopener noreferrer"
          >
            Open
          </Button>
          <Button variant="default" disabled={!domain.is_active} onClick={() => setChanging('refresh')}>
            Refresh
          </Button>
          <Button variant="default" disabled={stored === null} onClick={() => setChanging('purge')}>
            Purge
          </Button>
        </Group>
      </Group>
      <Group gap="xs">
        {stored === null ? (
          <Badge variant="light" color="gray" tt="none">
            {redirect === null ? 'not stored' : `${redirect.status} to ${redirect.location.slice(0, 80)}`}
          </Badge>
        ) : (
          <>
            <Badge variant="light" color={stored.status < 400 ? 'paint' : 'yellow'}>
              {stored.status}
            </Badge>
            <Badge
              variant="light"
              color={stored.freshness === 'fresh' ? 'paint' : 'yellow'}
              tt="none"
              title={FRESHNESS[stored.freshness].meaning}
            >
              {stored.freshness}
            </Badge>
            <Text size="sm" className="quiet">
              {size(stored.html_bytes)}, rendered <TimeText at={stored.rendered_at} />
              {stored.last_crawler !== null && (
                <>
                  , last asked for by {stored.last_crawler.name}{' '}
                  <TimeText at={stored.last_crawler.asked_at} />
                </>
              )}
            </Text>
          </>
        )}
        {renders[0] !== undefined && renders[0].outcome !== 'rendered' && (
          <Text size="sm" component="div">
            last render: <OutcomeBadge outcome={renders[0].outcome} />
          </Text>
        )}
      </Group>
      {changing !== null && (
        <PageChange
          deed={changing}
          domain={domain}
          selection={{ kind: 'some', paths: new Set([path]) }}
          search={{ text: '', match: 'contains' }}
          pages={1}
          onDone={async () => {
            await queries.invalidateQueries({ queryKey: ['domains', name] })
            if (changing === 'purge') navigate(domainPath('domainCache', name))
          }}
          onClose={() => setChanging(null)}
        />
      )}
    </Stack>
  )
}
