import { Button, Group, NativeSelect, Stack, TextInput } from '@mantine/core'
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useDeferredValue, useMemo, useState } from 'react'
import { type PageFilter, pagesQuery } from '../../api/queries.ts'
import type { DomainWithSettings } from '../../api/types.ts'
import { count, counted } from '../../format.ts'
import { isLong } from '../../live/changes.ts'
import { May } from '../../parts/may.tsx'
import { Note } from '../../parts/page.tsx'
import { Empty, Loaded, Trouble } from '../../parts/states.tsx'
import classes from './cache.module.css'
import { PageChange } from './page-change.tsx'
import { ORDERS, PageTable } from './page-table.tsx'
import { NONE_SELECTED, type Selection, selectedCount } from './selection.ts'
import { WebhookTokens } from './tokens.tsx'
import { WarmSection } from './warm.tsx'

export default function DomainCache({ domain }: { domain: DomainWithSettings }) {
  return (
    <Stack gap="lg">
      <May action="startWarm">
        <WarmSection domain={domain} />
      </May>
      <CachedPages domain={domain} />
      <May action="createToken">
        <WebhookTokens domain={domain} />
      </May>
    </Stack>
  )
}

const FIRST_FILTER: PageFilter = { search: '', match: 'contains', by: 'path', isDescending: false }

/** The pages of a domain that match, with what is loaded of them. */
function usePages(name: string, filter: PageFilter) {
  const queries = useQueryClient()
  const query = pagesQuery(name, { ...filter, search: useDeferredValue(filter.search.trim()) })
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

function CachedPages({ domain }: { domain: DomainWithSettings }) {
  const name = domain.custom_domain
  const [filter, setFilter] = useState(FIRST_FILTER)
  const [selection, setSelection] = useState<Selection>(NONE_SELECTED)
  const [changing, setChanging] = useState<'purge' | 'refresh' | null>(null)
  const { pages, rows, matching, reload, rereadAll } = usePages(name, filter)
  const selected = selectedCount(selection, matching)
  const search = filter.search.trim()

  const changeFilter = (change: Partial<PageFilter>) => {
    setFilter({ ...filter, ...change })
    if (change.search !== undefined || change.match !== undefined) setSelection(NONE_SELECTED)
  }
  return (
    <Loaded query={pages} rows={6}>
      {() => (
        <Stack gap="sm">
          <FilterBar filter={filter} onChange={changeFilter}>
            <May action="purgePages">
              <PageButtons
                domain={domain}
                selected={selected}
                matching={matching}
                isSearching={search !== ''}
                onChange={setChanging}
              />
            </May>
          </FilterBar>
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
              />
            ) : (
              <NoPages filter={filter} onClear={() => changeFilter({ search: '' })} />
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
              deed={changing}
              domain={domain}
              selection={selected === 0 ? { kind: 'matching' } : selection}
              search={{ text: search, match: filter.match }}
              pages={selected === 0 ? matching : selected}
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

function FilterBar(props: {
  filter: PageFilter
  onChange: (change: Partial<PageFilter>) => void
  children: React.ReactNode
}) {
  const { filter, onChange } = props
  return (
    <div className={classes.bar}>
      <TextInput
        label="Search"
        placeholder={filter.match === 'prefix' ? 'Beginning of a path, such as /blog/' : 'Part of a path'}
        type="search"
        value={filter.search}
        onChange={(event) => onChange({ search: event.currentTarget.value })}
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
        className={classes.order}
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
  isSearching: boolean
  onChange: (deed: 'purge' | 'refresh') => void
}) {
  const { selected, isSearching } = props
  const label = (verb: string) => {
    if (selected > 0) return `${verb} ${counted(selected, 'page')}`
    return isSearching ? verb : `${verb} all`
  }
  const isNothing = selected === 0 && isSearching
  return (
    <Group gap="xs" className={classes.deeds}>
      <Button
        variant="default"
        disabled={!props.domain.is_active || isNothing}
        onClick={() => props.onChange('refresh')}
      >
        {label('Refresh')}
      </Button>
      <Button
        variant="default"
        disabled={isNothing || (selected === 0 && props.matching === 0)}
        onClick={() => props.onChange('purge')}
      >
        {label('Purge')}
      </Button>
    </Group>
  )
}

function NoPages({ filter: { search, match }, onClear }: { filter: PageFilter; onClear: () => void }) {
  if (search.trim() === '') {
    return (
      <Empty title="No page is cached yet">
        Pages appear here when the first crawler requests them, or when you warm the cache.
      </Empty>
    )
  }
  return (
    <Empty
      title={`No path ${match === 'prefix' ? 'begins with' : 'contains'} “${search.trim()}”`}
      action={
        <Button variant="default" onClick={onClear}>
          Show all
        </Button>
      }
    >
      {match === 'prefix' ? 'This search is case-sensitive.' : 'This search ignores case.'}
    </Empty>
  )
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
