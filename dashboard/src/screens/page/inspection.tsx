import { Anchor, Badge, Button, Group, Stack, Text, Title } from '@mantine/core'
import { PAGE_VARIANTS } from '@prepaint/contract/page/page-id.ts'
import type { Action } from '@prepaint/contract/roles.ts'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { inspectionQuery } from '../../api/queries.ts'
import { useRights } from '../../api/rights.ts'
import type { DomainWithSettings, PageInspection, Settings } from '../../api/types.ts'
import { DEVICE_LABELS } from '../../devices.ts'
import { bytes, exactTime, milliseconds, visitedAgo } from '../../format.ts'
import { FRESHNESS, OutcomeBadge } from '../../parts/badges.tsx'
import { May } from '../../parts/may.tsx'
import { Note, Section, useTitle } from '../../parts/page.tsx'
import { Empty, Loaded, NotFound } from '../../parts/states.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { domainPath, type PageView, pagePath, settingsPath } from '../../route-map.ts'
import { type Deed, PageChange } from '../cache/page-change.tsx'
import { NO_CONDITIONS } from '../cache/page-filter.ts'
import { RenderRecord } from '../domain/renders.tsx'
import { Compare } from './compare.tsx'
import { PageFactsView } from './facts.tsx'
import { History } from './history.tsx'
import classes from './inspection.module.css'
import { Preview } from './preview.tsx'
import { Source } from './source.tsx'

export type ViewProps = { domain: DomainWithSettings; page: PageInspection }

const VIEWS: readonly {
  view: PageView
  title: string
  View: React.ComponentType<ViewProps>
  needs: Action
}[] = [
  { view: 'compare', title: 'Crawlers and people', View: Compare, needs: 'getInspectionPicture' },
  { view: 'facts', title: 'Content', View: PageFactsView, needs: 'getPageDetails' },
  { view: 'source', title: 'Source', View: Source, needs: 'readPageSource' },
  { view: 'renders', title: 'Renders', View: Renders, needs: 'listRenders' },
  { view: 'history', title: 'History', View: History, needs: 'getPageDetails' },
  { view: 'preview', title: 'Link preview', View: Preview, needs: 'getInspectionPicture' },
]

export default function InspectionScreen({ domain }: { domain: DomainWithSettings }) {
  const name = domain.custom_domain
  const [params] = useSearchParams()
  const path = params.get('path') ?? '/'
  const variant = params.get('variant') === 'mobile' ? 'mobile' : 'desktop'
  const inspection = useQuery(inspectionQuery(name, path, variant))
  useTitle(`${path} · ${name}`)
  const may = useRights()
  const views = VIEWS.filter(({ needs }) => may(needs))
  const shown = views.find(({ view }) => view === params.get('view')) ?? views[0]
  // Clients do not see the settings.
  const { settings }: { settings?: Settings } = domain
  if (shown === undefined) return <NotFound />
  return (
    <Loaded query={inspection} rows={5}>
      {(page) => (
        <Stack gap="lg">
          <Head domain={domain} page={page} />
          {((settings !== undefined && settings.devices !== 'one') || variant === 'mobile') && (
            <Tabs
              label="Device"
              tabs={PAGE_VARIANTS.map((device) => ({
                title: DEVICE_LABELS[device],
                href: pagePath(name, path, { view: shown.view, variant: device }),
                isShown: device === variant,
              }))}
            />
          )}
          <Tabs
            label="This page"
            tabs={views.map(({ view, title }) => ({
              title,
              href: pagePath(name, path, { view, variant }),
              isShown: view === shown.view,
            }))}
          />
          <shown.View domain={domain} page={page} />
        </Stack>
      )}
    </Loaded>
  )
}

function Head({ domain, page }: ViewProps) {
  const { path, stored } = page
  const name = domain.custom_domain
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const [changing, setChanging] = useState<Deed | null>(null)
  return (
    <Stack gap="xs">
      <Anchor component={Link} href={domainPath('domainPages', name)} size="sm">
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
          <May action="rerenderPages">
            <Button disabled={!domain.is_active || stored === null} onClick={() => setChanging('rerender')}>
              Render again
            </Button>
          </May>
          <May action="purgePages">
            <Button variant="default" disabled={!domain.is_active} onClick={() => setChanging('refresh')}>
              Refresh
            </Button>
            <Button variant="default" disabled={stored === null} onClick={() => setChanging('purge')}>
              Purge
            </Button>
          </May>
        </Group>
      </Group>
      <CacheState domain={domain} page={page} />
      {changing !== null && (
        <PageChange
          deed={changing}
          domain={domain}
          selection={{ kind: 'some', paths: new Set([path]) }}
          filter={NO_CONDITIONS}
          pages={1}
          onDone={async () => {
            await queries.invalidateQueries({ queryKey: ['domains', name] })
            if (changing === 'purge') navigate(domainPath('domainPages', name))
          }}
          onClose={() => setChanging(null)}
        />
      )}
    </Stack>
  )
}

function CacheState({ domain, page: { stored, redirect, renders } }: ViewProps) {
  const last = renders[0]
  return (
    <Group gap="xs">
      {stored === null ? <NotStored redirect={redirect} /> : <StoredState domain={domain} stored={stored} />}
      {last !== undefined && !['rendered', 'static'].includes(last.outcome) && (
        <Text size="sm" component="div">
          last render: <OutcomeBadge outcome={last.outcome} />
        </Text>
      )}
    </Group>
  )
}

const LOCATION_CHARS = 80

function NotStored({ redirect }: { redirect: PageInspection['redirect'] }) {
  if (redirect === null) return <Badge color="gray">not cached</Badge>
  return (
    <Badge color="gray">
      {redirect.status} to {redirect.location.slice(0, LOCATION_CHARS)}
    </Badge>
  )
}

type Stored = NonNullable<PageInspection['stored']>

function StoredState({ domain, stored }: { domain: DomainWithSettings; stored: Stored }) {
  const { status, freshness, html_bytes: size, rendered_at: renderedAt, last_crawler: crawler } = stored
  return (
    <>
      <Badge color={status < 400 ? 'paint' : 'yellow'}>{status}</Badge>
      <Badge color={freshness === 'fresh' ? 'paint' : 'yellow'} title={FRESHNESS[freshness]}>
        {freshness}
      </Badge>
      <Note size="sm">
        {bytes(size)}, rendered <TimeText at={renderedAt} />
        {crawler !== null && (
          <>
            , last requested by {crawler.name} <TimeText at={crawler.visited_at} words={visitedAgo} />
          </>
        )}
      </Note>
      <FreshUntil domain={domain} stored={stored} />
    </>
  )
}

/** When its freshness ends, and why. */
function FreshUntil({ domain, stored }: { domain: DomainWithSettings; stored: Stored }) {
  return (
    <Note size="sm">
      {stored.freshness === 'fresh' ? 'Fresh until' : 'Was fresh until'}{' '}
      <TimeText at={stored.fresh_until} words={exactTime} />
      <FreshBy domain={domain} stored={stored} />
    </Note>
  )
}

/** Names the setting, unless the page was made stale, or is one of those that are fresh for an hour at most. */
function FreshBy({ domain, stored }: { domain: DomainWithSettings; stored: Stored }) {
  const { fresh_until: until, rendered_at: renderedAt, freshness_rule: rule } = stored
  // Clients do not see the settings.
  const { settings }: { settings?: Settings } = domain
  if (settings === undefined) return null
  const seconds = (rule === null ? null : settings.rules[rule]?.fresh_seconds) ?? settings.fresh_seconds
  if (Date.parse(until) !== Date.parse(renderedAt) + seconds * 1_000) return null
  const page = rule === null ? 'freshness' : 'paths'
  return (
    <>
      , by{' '}
      <Anchor component={Link} href={settingsPath(domain.custom_domain, page)} size="xs" underline="always">
        {rule === null ? 'the freshness of the site' : `path rule ${rule + 1}`}
      </Anchor>
    </>
  )
}

function Renders({ page: { renders } }: ViewProps) {
  if (renders.length === 0) {
    return (
      <div className="sheet">
        <Empty title="Not rendered in the last week">
          The record of each render appears here for a week. Refresh the page to render it now.
        </Empty>
      </div>
    )
  }
  return (
    <Section title="Renders" lead="The last 20 renders of the last week, newest first.">
      <Stack gap={0}>
        {renders.map((render, at) => (
          <details key={`${render.jobId} ${render.ended_at}`} className={classes.render} open={at === 0}>
            <summary>
              <Group gap="xs" component="span" display="inline-flex">
                <OutcomeBadge outcome={render.outcome} />
                <Text size="sm" span>
                  <TimeText at={render.ended_at} />
                </Text>
                <Text size="sm" span className="quiet number">
                  {milliseconds(render.stored_ms)}
                </Text>
              </Group>
            </summary>
            <RenderRecord render={render} />
          </details>
        ))}
      </Stack>
    </Section>
  )
}
