import { Button, NativeSelect, Skeleton, Stack, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import IconPlus from '@tabler/icons-react/dist/esm/icons/IconPlus.mjs'
import { useQuery } from '@tanstack/react-query'
import { Fragment, lazy, type ReactNode, Suspense, useEffect, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'

import { portfolioQuery, portfolioUrl, type SiteFilter, tagsQuery } from '../../api/portfolio-queries.ts'
import { useRights } from '../../api/rights.ts'
import { useMe } from '../../api/session.ts'
import type { Portfolio, PortfolioDomain } from '../../api/types.ts'
import { count, counted } from '../../format.ts'
import { useAddressed } from '../../parts/addressed.ts'
import { Page } from '../../parts/page.tsx'
import { Empty, NothingFound, Trouble } from '../../parts/states.tsx'
import { domainPath, ROUTES } from '../../route-map.ts'
import { isFiltered, NO_FILTER, useSiteFilter } from './site-filter.ts'
import { type Cause, causesOf, weekText } from './site-groups.ts'
import { SiteList } from './site-list.tsx'
import classes from './sites.module.css'
import { type SiteState, StateShape } from './state-shape.tsx'

const BulkBar = lazy(() => import('./bulk-bar.tsx'))
const ImportSites = lazy(() => import('./import-sites.tsx'))
const Templates = lazy(() => import('./templates.tsx'))

const FirstSteps = lazy(async () => ({
  default: (await import('../domain/getting-started.tsx')).FirstSteps,
}))

const SiteSteps = lazy(async () => ({
  default: (await import('../domain/getting-started.tsx')).SiteSteps,
}))

const SitesInWords = lazy(async () => ({
  default: (await import('../domain/client-overview.tsx')).SitesInWords,
}))

/** Menus are loaded when the first one opens. */
const MoreMenu = lazy(async () => ({ default: (await import('./site-menus.tsx')).MoreMenu }))
const SiteMenu = lazy(async () => ({ default: (await import('./site-menus.tsx')).SiteMenu }))
const SiteTags = lazy(async () => ({ default: (await import('./site-menus.tsx')).SiteTags }))

/** What is open over the list. */
export type Opened = 'import' | 'templates' | null

export default function Sites() {
  const [filter, change] = useSiteFilter()
  const portfolio = useQuery(portfolioQuery(filter))
  const [opened, setOpened] = useState<Opened>(null)
  const close = () => setOpened(null)
  const may = useRights()
  useAddressed('import', () => setOpened('import'))
  useAddressed('templates', () => setOpened('templates'))
  const isEmpty = portfolio.data?.counts.all === 0 && !isFiltered(filter)
  const add = may('createDomain') && <AddButton used={portfolio.data} filter={filter} />
  return (
    <Page
      title="Sites"
      lead={<Lead data={portfolio.data} />}
      actions={
        !isEmpty && (
          <Actions add={add} filter={filter} isLoaded={portfolio.data !== undefined} onOpen={setOpened} />
        )
      }
      isWide
    >
      <Content
        portfolio={portfolio}
        filter={filter}
        change={change}
        first={may('createDomain') ? <FirstSteps add={add} /> : <NoSiteYet />}
        isEmpty={isEmpty}
      />
      <Suspense fallback={null}>
        {opened === 'import' && <ImportSites onClose={close} />}
        {opened === 'templates' && <Templates onClose={close} />}
      </Suspense>
    </Page>
  )
}

/** For members who cannot add one. */
function NoSiteYet() {
  const isLimited = useMe().domains !== null
  return (
    <div className="sheet">
      <Empty title="No site">
        {isLimited
          ? 'The sites that you could see were removed. Ask who invited you.'
          : 'This account has no site yet.'}
      </Empty>
    </div>
  )
}

/** The sum of the sites that are shown; with more than are shown it is not known. */
function Lead({ data }: { data: Portfolio | undefined }) {
  if (data === undefined || data.domains.length === 0 || data.next !== null) {
    return 'Crawlers of these sites get rendered pages.'
  }
  return weekText(data.domains)
}

function AddButton({ used, filter }: { used: Portfolio | undefined; filter: SiteFilter }) {
  const [, navigate] = useLocation()
  const { site_limit: limit } = useMe().plan
  const isFull = limit !== null && used !== undefined && !isFiltered(filter) && used.counts.all >= limit
  return (
    <Button
      leftSection={<IconPlus size={18} aria-hidden />}
      onClick={() => navigate(ROUTES.addDomain)}
      disabled={used === undefined || isFull}
      title={
        isFull ? `Your plan has ${counted(limit, 'site')}. Ask the operator for a larger one.` : undefined
      }
    >
      Add a domain
    </Button>
  )
}

function Actions(props: {
  add: ReactNode
  filter: SiteFilter
  isLoaded: boolean
  onOpen: (opened: Opened) => void
}) {
  const { add, filter, isLoaded, onOpen } = props
  const [isOpen, setOpen] = useState(false)
  return (
    <div className={classes.filters}>
      <div className={classes.opener}>
        <Button
          variant="default"
          aria-haspopup="menu"
          aria-expanded={isOpen}
          // The menu goes if there are no sites yet, and would take the focus with it.
          disabled={!isLoaded}
          onClick={() => setOpen(true)}
        >
          More
        </Button>
        {isOpen && (
          <Suspense fallback={null}>
            <MoreMenu csv={portfolioUrl(filter, 'csv')} onOpen={onOpen} close={() => setOpen(false)} />
          </Suspense>
        )}
      </div>
      {add}
    </div>
  )
}

type Change = (changed: Partial<SiteFilter>) => void

function Content(props: {
  portfolio: { data: Portfolio | undefined; error: unknown; refetch: () => unknown }
  filter: SiteFilter
  change: Change
  first: ReactNode
  isEmpty: boolean
}) {
  const { portfolio, filter, change } = props
  const { data, error } = portfolio
  if (data === undefined) return error === null ? <LoadingList /> : <Trouble query={portfolio} />
  if (props.isEmpty) return props.first
  return <Loaded data={data} filter={filter} change={change} />
}

/** As high as the filters and the rows will be. */
function LoadingList() {
  return (
    <Stack gap="md" role="status" aria-label="Loading">
      <Skeleton height={36} />
      <Skeleton height={36 + 28 + 5 * 49} />
    </Stack>
  )
}

const MOST_SELECTED = 1_000

/** So many sites are told in sentences to members who look at them and change nothing. */
const MOST_IN_WORDS = 5

function Loaded({ data, filter, change }: { data: Portfolio; filter: SiteFilter; change: Change }) {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [tagged, setTagged] = useState<PortfolioDomain | null>(null)
  const may = useRights()
  const { domains } = data
  // Only what is shown is acted on.
  const chosen = domains.filter(({ custom_domain }) => selected.has(custom_domain)).slice(0, MOST_SELECTED)
  const causes = filter.state === null || filter.state === 'trouble' ? causesOf(domains) : []
  if (!may('listRenders') && data.counts.all <= MOST_IN_WORDS && !isFiltered(filter)) {
    return (
      <Suspense fallback={<LoadingList />}>
        <SitesInWords sites={domains} />
      </Suspense>
    )
  }
  const [only] = data.counts.all === 1 && !isFiltered(filter) ? domains : []
  return (
    <Stack gap="sm">
      <Filters counts={data.counts} filter={filter} change={change} />
      {causes.length > 0 && <Causes trouble={data.counts.trouble} causes={causes} />}
      {domains.length === 0 ? (
        <NoSites filter={filter} change={change} />
      ) : (
        <SiteList
          sites={domains}
          sort={filter.sort}
          onSort={(sort) => change({ sort })}
          selected={selected}
          onSelect={may('bulk') ? setSelected : null}
          menu={(site, close) => (
            <Suspense fallback={null}>
              <SiteMenu site={site} close={close} onSelect={setSelected} onTags={() => setTagged(site)} />
            </Suspense>
          )}
        />
      )}
      {data.next !== null && (
        <p className="quiet">The first {count(domains.length)} sites are shown. Search to find others.</p>
      )}
      {only !== undefined && (
        <Suspense fallback={null}>
          <SiteSteps name={only.custom_domain} />
        </Suspense>
      )}
      {tagged !== null && (
        <Suspense fallback={null}>
          <SiteTags site={tagged} onClose={() => setTagged(null)} />
        </Suspense>
      )}
      {chosen.length > 0 && (
        <Suspense fallback={null}>
          <BulkBar sites={chosen} onClear={() => setSelected(new Set())} />
        </Suspense>
      )}
    </Stack>
  )
}

/** Names are not broken at their hyphens. */
function Causes({ trouble, causes }: { trouble: number; causes: readonly Cause[] }) {
  return (
    <div className={classes.causes} role="status">
      {count(trouble)} in trouble:{' '}
      {causes.map(({ words, sites, name }, at) => (
        <Fragment key={words}>
          {at > 0 && ' · '}
          {words}
          {sites > 1 ? ` on ${count(sites)} sites` : ': '}
          {sites === 1 && <Link href={domainPath('domain', name)}>{name}</Link>}
        </Fragment>
      ))}
    </div>
  )
}

const WORDS: Record<SiteState, string> = {
  trouble: 'in trouble',
  warning: 'with a warning',
  setup: 'to set up',
  ok: 'fine',
  paused: 'paused',
}

const SHOWN_STATES = Object.keys(WORDS) as SiteState[]

function Filters({
  counts,
  filter,
  change,
}: {
  counts: Portfolio['counts']
  filter: SiteFilter
  change: Change
}) {
  const mayTags = useRights()('listTags')
  const tags = useQuery({ ...tagsQuery, enabled: mayTags })
  return (
    <div className={classes.filters}>
      <div className={classes.counts}>
        <button
          type="button"
          className={classes.count}
          aria-pressed={filter.state === null}
          onClick={() => change({ state: null })}
        >
          {counted(counts.all, 'site')}
        </button>
        {SHOWN_STATES.filter((state) => counts[state] > 0 || filter.state === state).map((state) => (
          <button
            key={state}
            type="button"
            className={classes.count}
            data-state={state}
            aria-pressed={filter.state === state}
            onClick={() => change({ state: filter.state === state ? null : state })}
          >
            <span aria-hidden>
              <StateShape state={state} />
            </span>
            {count(counts[state])} {WORDS[state]}
          </button>
        ))}
      </div>
      <div className={classes.finders}>
        <SearchField hasTags={mayTags} value={filter.search} onChange={(search) => change({ search })} />
        {((tags.data?.length ?? 0) > 0 || filter.tag !== null) && (
          <NativeSelect
            className={classes.select}
            aria-label="Tag"
            value={filter.tag ?? ''}
            onChange={(event) => change({ tag: event.currentTarget.value || null })}
            data={[
              { value: '', label: 'All tags' },
              ...(tags.data ?? []).map(({ name, domains }) => ({
                value: name,
                label: `${name} (${domains})`,
              })),
            ]}
          />
        )}
        <NativeSelect
          className={`${classes.select} ${classes.onlyNarrow}`}
          aria-label="Sort by"
          value={filter.sort}
          onChange={(event) => change({ sort: event.currentTarget.value as SiteFilter['sort'] })}
          data={[
            { value: 'attention', label: 'Attention first' },
            { value: 'name', label: 'By name' },
            { value: 'visits', label: 'Most visits first' },
            { value: 'hit_ratio', label: 'Lowest hit ratio first' },
            { value: 'renders', label: 'Most renders first' },
            { value: 'last_crawler', label: 'Last crawler first' },
          ]}
        />
      </div>
    </div>
  )
}

const TYPING_MS = 150

function SearchField(props: { hasTags: boolean; value: string; onChange: (search: string) => void }) {
  const { hasTags, value, onChange } = props
  const [text, setText] = useState(value)
  const field = useRef<HTMLInputElement>(null)
  const later = useDebouncedCallback((search: string) => onChange(search.trim()), TYPING_MS)
  useEffect(() => {
    const focus = (event: globalThis.KeyboardEvent) => {
      const { target } = event
      const isTyping =
        target instanceof HTMLElement && target.closest('input, textarea, select, [role=dialog]') !== null
      if (event.key !== '/' || isTyping) return
      event.preventDefault()
      field.current?.focus()
    }
    document.addEventListener('keydown', focus)
    return () => document.removeEventListener('keydown', focus)
  }, [])
  // Cleared from elsewhere.
  useEffect(() => {
    if (value === '') setText('')
  }, [value])
  return (
    <TextInput
      ref={field}
      className={classes.search}
      type="search"
      aria-label="Search sites"
      aria-keyshortcuts="/"
      placeholder={hasTags ? 'Name or tag' : 'Name'}
      autoComplete="off"
      spellCheck={false}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value)
        later(event.currentTarget.value)
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return
        setText('')
        onChange('')
      }}
    />
  )
}

function NoSites({ filter, change }: { filter: SiteFilter; change: Change }) {
  const parts = [
    filter.search === '' ? null : `“${filter.search}”`,
    filter.tag === null ? null : `the tag “${filter.tag}”`,
    filter.state === null ? null : `the state “${WORDS[filter.state]}”`,
  ].filter((part) => part !== null)
  return (
    <div className="sheet">
      <NothingFound
        title={`No site has ${parts.join(' and ')}`}
        all="Show all sites"
        onClear={() => change({ ...NO_FILTER, sort: filter.sort })}
      />
    </div>
  )
}
