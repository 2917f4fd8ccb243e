import { Anchor, Button, Group, NativeSelect, Skeleton, Stack, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { Link } from 'wouter'
import { pageCountsQuery } from '../../api/page-counts-query.ts'
import { domainUrl, type PageFilter, pagesQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { useRights } from '../../api/rights.ts'
import type { DomainWithSettings } from '../../api/types.ts'
import { count, counted } from '../../format.ts'
import { isLong } from '../../live/changes.ts'
import { eitherOutcome, FAILED_OUTCOMES } from '../../parts/badges.tsx'
import { May } from '../../parts/may.tsx'
import { notifyDone, notifyFailed } from '../../parts/notifications.tsx'
import { Note } from '../../parts/page.tsx'
import { Empty, Loaded, NothingFound, Trouble } from '../../parts/states.tsx'
import { rendersPath } from '../../route-map.ts'
import classes from './cache.module.css'
import { type Deed, PageChange } from './page-change.tsx'
import { isFiltered, NO_CONDITIONS, ORDERS, usePageFilter } from './page-filter.ts'
import { PageFilters } from './page-filters.tsx'
import { PageTable } from './page-table.tsx'
import { NONE_SELECTED, type Selection, selectedCount } from './selection.ts'
import { WarmSection } from './warm.tsx'

export default function DomainCache({ domain }: { domain: DomainWithSettings }) {
  return (
    <Stack gap="lg">
      <May action="startWarm">
        <WarmSection domain={domain} />
      </May>
      <CachedPages domain={domain} />
    </Stack>
  )
}

/** The pages of a domain that match, with what is loaded of them. */
function usePages(name: string, filter: PageFilter) {
  const queries = useQueryClient()
  const query = pagesQuery(name, { ...filter, search: filter.search.trim() })
  const pages = useInfiniteQuery({ ...query, placeholderData: (before) => before })
  const rows = useMemo(() => pages.data?.pages.flatMap((piece) => piece.pages) ?? [], [pages.data])
  const reload = () => queries.resetQueries({ queryKey: query.queryKey, exact: true })
  return {
    pages,
    rows,
    matching: pages.data?.pages[0]?.matching ?? 0,
    reload,
    /** Call after pages were changed. */
    rereadAll: async () => {
      if (isLong({ state: pages })) await reload()
      await queries.invalidateQueries({ queryKey: ['domains', name], predicate: (query) => !isLong(query) })
    },
  }
}

type Changing = { deed: Deed; selection: Selection }

function CachedPages({ domain }: { domain: DomainWithSettings }) {
  const name = domain.custom_domain
  const [filter, setFilter] = usePageFilter(name)
  const [selection, setSelection] = useState<Selection>(NONE_SELECTED)
  const [changing, setChanging] = useState<Changing | null>(null)
  const { pages, rows, matching, reload, rereadAll } = usePages(name, filter)
  const { by: _, isDescending: __, ...conditions } = filter
  const counts = useQuery(pageCountsQuery(name, conditions)).data
  const may = useRights()
  const selected = selectedCount(selection, matching)
  const pagesOf = (chosen: Selection) => selectedCount(chosen, matching)

  const changeFilter = (change: Partial<PageFilter>) => {
    setFilter(change)
    const isSorted = Object.keys(change).every((field) => field === 'by' || field === 'isDescending')
    if (!isSorted) setSelection(NONE_SELECTED)
  }
  const renderAgain = (path: string) => {
    request('POST', `${domainUrl(name)}/pages/rerender`, { body: { paths: [path] } })
      .then(() => notifyDone(`Rendering ${path} again. Crawlers get the stored page until then.`))
      .catch((error: unknown) => notifyFailed('The page was not rendered', error))
  }
  return (
    <Loaded query={pages} loading={<LoadingPages />}>
      {() => (
        <Stack gap="sm">
          <FilterBar filter={filter} onChange={changeFilter}>
            <May action="purgePages">
              <PageButtons
                domain={domain}
                selected={selected}
                matching={matching}
                isFiltered={isFiltered(filter)}
                onChange={(deed) =>
                  setChanging({ deed, selection: selected === 0 ? { kind: 'matching' } : selection })
                }
              />
            </May>
          </FilterBar>
          <May action="purgePages">
            <Note>
              Render again: crawlers get the stored page until the new one is stored. Refresh: deletes first,
              so crawlers wait for the new page. Purge: deletes only; the next crawler visit renders.
            </Note>
          </May>
          <PageFilters filter={filter} counts={counts ?? undefined} onChange={changeFilter} />
          <div className="sheet sheet-flush">
            {rows.length > 0 ? (
              <PageTable
                domain={name}
                rows={rows}
                matching={matching}
                selection={selection}
                onSelect={setSelection}
                order={filter}
                onOrder={changeFilter}
                hasMore={pages.hasNextPage}
                onMore={() => {
                  if (!pages.isFetching) void pages.fetchNextPage()
                }}
                isDomainActive={domain.is_active}
                onRenderAgain={may('rerenderPages') ? renderAgain : null}
                onDeed={
                  may('purgePages')
                    ? (deed, path) =>
                        setChanging({ deed, selection: { kind: 'some', paths: new Set([path]) } })
                    : null
                }
              />
            ) : (
              <NoPages
                domain={domain.custom_domain}
                filter={filter}
                onClear={() => changeFilter(NO_CONDITIONS)}
              />
            )}
          </div>
          <ListState
            pages={pages}
            loaded={rows.length}
            matching={matching}
            selection={selection}
            onSelect={setSelection}
            onReload={reload}
          />
          {pages.error !== null && (
            <Trouble query={{ error: pages.error, refetch: () => pages.fetchNextPage() }} />
          )}
          {changing !== null && (
            <PageChange
              deed={changing.deed}
              domain={domain}
              selection={changing.selection}
              filter={filter}
              pages={pagesOf(changing.selection)}
              onDone={() => {
                setSelection(NONE_SELECTED)
                return rereadAll()
              }}
              onClose={() => setChanging(null)}
            />
          )}
        </Stack>
      )}
    </Loaded>
  )
}

/** As high as the fields above the table, and as the table. */
function LoadingPages() {
  return (
    <Stack gap="sm" role="status" aria-label="Loading" className="late">
      <Skeleton height={60} />
      <Skeleton height={60} />
      <Skeleton className={classes.grid} />
    </Stack>
  )
}

const TYPING_MS = 200

function FilterBar(props: {
  filter: PageFilter
  onChange: (change: Partial<PageFilter>) => void
  children: React.ReactNode
}) {
  const { filter, onChange } = props
  const [search, setSearch] = useState(filter.search)
  const later = useDebouncedCallback((text: string) => onChange({ search: text }), TYPING_MS)
  // Cleared from elsewhere.
  useEffect(() => {
    if (filter.search === '') setSearch('')
  }, [filter.search])
  return (
    <div className={classes.bar}>
      <TextInput
        label="Search"
        placeholder={filter.match === 'prefix' ? 'Beginning of a path, such as /blog/' : 'Part of a path'}
        type="search"
        value={search}
        onChange={(event) => {
          setSearch(event.currentTarget.value)
          later(event.currentTarget.value)
        }}
        className={classes.search}
      />
      <NativeSelect
        label="Match"
        value={filter.match}
        onChange={(event) =>
          onChange({ match: event.currentTarget.value === 'prefix' ? 'prefix' : 'contains' })
        }
        data={[
          { value: 'contains', label: 'contains' },
          { value: 'prefix', label: 'begins with' },
        ]}
      />
      <NativeSelect
        label="Order"
        value={filter.by}
        onChange={(event) => {
          const by = ORDERS.find(({ order }) => order === event.currentTarget.value)?.order ?? 'path'
          onChange({ by, isDescending: false })
        }}
        data={ORDERS.map(({ order, title }) => ({ value: order, label: title }))}
      />
      {props.children}
    </div>
  )
}

function PageButtons(props: {
  domain: DomainWithSettings
  selected: number
  matching: number
  isFiltered: boolean
  onChange: (deed: Deed) => void
}) {
  const { selected, isFiltered: hasFilter, matching } = props
  const label = (verb: string) => {
    if (selected > 0) return `${verb} ${counted(selected, 'page')}`
    return hasFilter ? `${verb} ${counted(matching, 'page')}` : `${verb} all`
  }
  const isNothing = matching === 0
  return (
    <Group gap="xs" className={classes.deeds}>
      <Button disabled={!props.domain.is_active || isNothing} onClick={() => props.onChange('rerender')}>
        {`${label('Render')} again`}
      </Button>
      <Button
        variant="default"
        disabled={!props.domain.is_active || (isNothing && hasFilter)}
        onClick={() => props.onChange('refresh')}
      >
        {label('Refresh')}
      </Button>
      <Button variant="default" disabled={isNothing} onClick={() => props.onChange('purge')}>
        {label('Purge')}
      </Button>
    </Group>
  )
}

function NoPages(props: { domain: string; filter: PageFilter; onClear: () => void }) {
  const { domain, filter, onClear } = props
  if (!isFiltered(filter)) {
    return (
      <Empty title="No page is cached yet">
        Pages appear here when the first crawler requests them, or when you warm the cache.
      </Empty>
    )
  }
  const search = filter.search.trim()
  const hasSearchOnly = !isFiltered({ ...filter, search: '' })
  const verb = filter.match === 'prefix' ? 'begins with' : 'contains'
  return (
    <NothingFound
      title={hasSearchOnly ? `No path ${verb} “${search}”` : `No page with ${filterWords(filter)}`}
      all="Show all"
      onClear={onClear}
    >
      {search !== '' &&
        (filter.match === 'prefix' ? 'This search is case-sensitive.' : 'This search ignores case.')}
      {filter.outcome !== undefined && filter.outcome !== '' && (
        <>
          Pages that were never stored are not in this list.{' '}
          <Anchor component={Link} href={rendersPath(domain, filter.outcome)} underline="always">
            Show the renders that ended so
          </Anchor>
        </>
      )}
    </NothingFound>
  )
}

/** Names the filters that are set. */
function filterWords(filter: PageFilter): string {
  const { status = '', freshness = '', outcome = '', variant = '', unvisited = '' } = filter
  const either = (values: string) => values.replaceAll(',', ' or ')
  const words: string[] = []
  if (status !== '') words.push(`status ${either(status)}`)
  if (freshness !== '') words.push(`freshness ${either(freshness)}`)
  if (outcome === FAILED_OUTCOMES.join()) words.push('a failed last render')
  else if (outcome !== '') words.push(`last render “${eitherOutcome(outcome)}”`)
  if (variant !== '') words.push(`a copy for ${either(variant)}`)
  if (unvisited !== '') words.push(unvisited === 'true' ? 'no visit in 30 days' : 'a visit in 30 days')
  if (filter.search.trim() !== '') words.push(`“${filter.search.trim()}” in its path`)
  return words.join(' and ')
}

function ListState(props: {
  pages: ReturnType<typeof usePages>['pages']
  loaded: number
  matching: number
  selection: Selection
  onSelect: (selection: Selection) => void
  onReload: () => Promise<void>
}) {
  const { pages, loaded, matching, selection, onSelect } = props
  const selected = selectedCount(selection, matching)
  const isOutdated = pages.isStale && !pages.isFetching && isLong({ state: pages })
  return (
    <Group justify="space-between" gap="xs" mih={30}>
      <Note size="sm" className="number" role="status">
        {pages.isPlaceholderData ? 'Searching…' : loadedText(loaded, matching)}
        {selected > 0 && `, ${count(selected)} selected`}
        {isOutdated && '. Pages have changed since.'}
      </Note>
      <Group gap="xs">
        {isOutdated && (
          <Button variant="subtle" size="xs" onClick={() => void props.onReload()}>
            Reload the list
          </Button>
        )}
        {selection.kind === 'some' && selected > 0 && selected < matching && (
          <Button variant="subtle" size="xs" onClick={() => onSelect({ kind: 'matching' })}>
            Select all {count(matching)} that match
          </Button>
        )}
        {selected > 0 && (
          <Button variant="subtle" size="xs" onClick={() => onSelect(NONE_SELECTED)}>
            Clear the selection
          </Button>
        )}
      </Group>
    </Group>
  )
}

function loadedText(loaded: number, matching: number): string {
  const pages = counted(matching, 'page')
  return loaded < matching ? `${count(loaded)} of ${pages} loaded; scroll for more` : pages
}
