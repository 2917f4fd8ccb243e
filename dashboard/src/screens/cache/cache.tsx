import { Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useDeferredValue, useMemo, useState } from 'react'
import { pagesQuery } from '../../api/queries.ts'
import type { DomainWithSettings, PageOrder } from '../../api/types.ts'
import { isLong } from '../../live/changes.ts'
import { Empty, Loading, Trouble } from '../../parts/states.tsx'
import { count, counted } from '../../parts/usage-bar.tsx'
import classes from './cache.module.css'
import { PageChange } from './page-change.tsx'
import { PageTable } from './page-table.tsx'
import { ORDERS } from './page-words.ts'
import { chosenCount, NOTHING_CHOSEN, type Selection } from './selection.ts'

/** The stored pages: searched, ordered, chosen, purged and refreshed. */
export function CachePages({ domain }: { domain: DomainWithSettings }) {
  const name = domain.custom_domain
  const queries = useQueryClient()
  const [search, setSearch] = useState('')
  const [match, setMatch] = useState<'contains' | 'prefix'>('contains')
  const [order, setOrder] = useState<{ by: PageOrder; isDescending: boolean }>({
    by: 'path',
    isDescending: false,
  })
  const [selection, setSelection] = useState<Selection>(NOTHING_CHOSEN)
  const [changing, setChanging] = useState<'purge' | 'refresh' | null>(null)
  const wanted = useDeferredValue(search.trim())
  const list = pagesQuery(name, { search: wanted, match, ...order })
  const pages = useInfiniteQuery({
    ...list,
    // What was shown stays until the new list is there.
    placeholderData: (before) => before,
  })
  const rows = useMemo(() => pages.data?.pages.flatMap((piece) => piece.pages) ?? [], [pages.data])
  const matching = pages.data?.pages[0]?.matching ?? 0
  const chosen = chosenCount(selection, matching)

  const look = (change: () => void) => {
    change()
    setSelection(NOTHING_CHOSEN)
  }
  const startOver = () => queries.resetQueries({ queryKey: list.queryKey, exact: true })
  const changed = async () => {
    setSelection(NOTHING_CHOSEN)
    if (isLong({ state: pages })) await startOver()
    await queries.invalidateQueries({
      predicate: (query) => query.queryKey[0] === 'domains' && query.queryKey[1] === name && !isLong(query),
    })
  }

  if (pages.data === undefined) {
    return pages.error === null ? (
      <Loading rows={6} />
    ) : (
      <Trouble error={pages.error} onRetry={() => pages.refetch()} />
    )
  }
  const isSearched = wanted !== ''
  const isOutdated = pages.isStale && !pages.isFetching && isLong({ state: pages })
  return (
    <Stack gap="sm">
      <div className={classes.bar}>
        <TextInput
          label="Search"
          placeholder={match === 'prefix' ? 'Beginning of a path, such as /blog/' : 'Part of a path'}
          type="search"
          value={search}
          onChange={(event) => look(() => setSearch(event.currentTarget.value))}
          className={classes.search}
        />
        <NativeSelect
          label="Match"
          value={match}
          onChange={(event) =>
            look(() => setMatch(event.currentTarget.value === 'prefix' ? 'prefix' : 'contains'))
          }
          data={[
            { value: 'contains', label: 'contains' },
            { value: 'prefix', label: 'begins with' },
          ]}
        />
        <NativeSelect
          label="Order"
          className={classes.order}
          value={order.by}
          onChange={(event) => {
            const by = ORDERS.find((each) => each.order === event.currentTarget.value)?.order ?? 'path'
            setOrder({ by, isDescending: false })
          }}
          data={ORDERS.map((each) => ({ value: each.order, label: each.title }))}
        />
        <Group gap="xs" className={classes.deeds}>
          <Button
            variant="default"
            disabled={!domain.is_active || (chosen === 0 && isSearched)}
            onClick={() => setChanging('refresh')}
          >
            {chosen > 0 ? `Refresh ${counted(chosen, 'page')}` : isSearched ? 'Refresh' : 'Refresh all'}
          </Button>
          <Button
            variant="default"
            disabled={chosen === 0 && (isSearched || matching === 0)}
            onClick={() => setChanging('purge')}
          >
            {chosen > 0 ? `Purge ${counted(chosen, 'page')}` : isSearched ? 'Purge' : 'Purge all'}
          </Button>
        </Group>
      </div>
      <div className="sheet sheet-flush">
        {rows.length > 0 ? (
          <PageTable
            domain={name}
            rows={rows}
            matching={matching}
            selection={selection}
            onSelect={setSelection}
            order={order}
            onOrder={setOrder}
            hasMore={pages.hasNextPage}
            onMore={() => {
              if (!pages.isFetching) void pages.fetchNextPage()
            }}
          />
        ) : isSearched ? (
          <Empty
            title={match === 'prefix' ? `No path begins with “${wanted}”` : `No path contains “${wanted}”`}
            action={
              <Button variant="default" onClick={() => look(() => setSearch(''))}>
                Show all
              </Button>
            }
          >
            {match === 'prefix' ? 'Capital letters count here.' : 'Letters are compared in any case.'}
          </Empty>
        ) : (
          <Empty title="No page is stored yet">
            A page comes here when the first crawler asks for it, or when the site is warmed.
          </Empty>
        )}
      </div>
      <Group justify="space-between" gap="xs" mih={30}>
        <Text size="sm" className="quiet number" role="status">
          {pages.isPlaceholderData
            ? 'Looking…'
            : rows.length < matching
              ? `${count(rows.length)} of ${counted(matching, 'page')} read so far; scroll for more`
              : counted(matching, 'page')}
          {chosen > 0 && `, ${count(chosen)} chosen`}
          {isOutdated && '. Pages have changed since.'}
        </Text>
        <Group gap="xs">
          {isOutdated && (
            <Button variant="subtle" size="xs" onClick={() => void startOver()}>
              Read the list anew
            </Button>
          )}
          {selection.kind === 'some' && chosen > 0 && chosen < matching && (
            <Button variant="subtle" size="xs" onClick={() => setSelection({ kind: 'matching' })}>
              Choose all {count(matching)} that match
            </Button>
          )}
          {chosen > 0 && (
            <Button variant="subtle" size="xs" onClick={() => setSelection(NOTHING_CHOSEN)}>
              Choose none
            </Button>
          )}
        </Group>
      </Group>
      {pages.error !== null && <Trouble error={pages.error} onRetry={() => pages.fetchNextPage()} />}
      {changing !== null && (
        <PageChange
          deed={changing}
          domain={domain}
          // Nothing chosen and no search: all there is.
          selection={chosen === 0 ? { kind: 'matching' } : selection}
          search={{ text: wanted, match }}
          pages={chosen === 0 ? matching : chosen}
          onDone={changed}
          onClose={() => setChanging(null)}
        />
      )}
    </Stack>
  )
}
