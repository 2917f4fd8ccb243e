import { Loader, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import IconFileText from '@tabler/icons-react/dist/esm/icons/IconFileText.mjs'
import IconWorld from '@tabler/icons-react/dist/esm/icons/IconWorld.mjs'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useId, useState } from 'react'
import { useLocation } from 'wouter'

import { domainsQuery, pagesQuery } from '../api/queries.ts'
import { useSession } from '../api/session.ts'
import type { ListedPage } from '../api/types.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Note } from '../parts/page.tsx'
import { domainPath, pagePath } from '../route-map.ts'
import { DOMAIN_TABS, type Icon, SCREENS } from './navigation.ts'
import classes from './search.module.css'

type Result = { key: string; title: string; kind: string; to: string; Icon: Icon }

const SHOWN = 8

export default function Search({ onClose }: { onClose: () => void }) {
  const id = useId()
  const [text, setText] = useState('')
  const [active, setActive] = useState(0)
  const [, navigate] = useLocation()
  const { results, domain, isSearching } = useResults(text.trim().toLowerCase())
  const at = Math.min(active, results.length - 1)

  const open = ({ to }: Result) => {
    onClose()
    // The API reference is not a dashboard screen.
    if (to === '/docs') location.assign(to)
    else navigate(to)
  }
  const press = (event: KeyboardEvent) => {
    const result = results[at]
    if (event.key === 'ArrowDown') setActive(Math.min(results.length - 1, at + 1))
    else if (event.key === 'ArrowUp') setActive(Math.max(0, at - 1))
    else if (event.key === 'Enter' && result !== undefined) open(result)
    // Other keys are for the text.
    else return
    event.preventDefault()
  }
  return (
    <Dialog title="Search" onClose={onClose}>
      <TextInput
        role="combobox"
        aria-label="Search screens, domains and pages"
        aria-expanded
        aria-controls={`${id}-list`}
        aria-activedescendant={at >= 0 ? `${id}-${at}` : undefined}
        autoComplete="off"
        spellCheck={false}
        data-autofocus
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value)
          setActive(0)
        }}
        onKeyDown={press}
        rightSection={isSearching ? <Loader size="xs" aria-hidden /> : null}
      />
      <div role="listbox" id={`${id}-list`} aria-label="Results" className={classes.results}>
        {results.map((result, row) => (
          <div
            key={result.key}
            id={`${id}-${row}`}
            role="option"
            tabIndex={-1}
            aria-selected={row === at}
            className={classes.result}
            onPointerMove={() => setActive(row)}
            onPointerDown={(event) => {
              event.preventDefault()
              open(result)
            }}
          >
            <result.Icon size={18} stroke={1.75} aria-hidden />
            <span className={classes.title}>{result.title}</span>
            <Note>{result.kind}</Note>
          </div>
        ))}
      </div>
      <Note role="status" mt="sm">
        {results.length === 0 && !isSearching ? 'Nothing found. ' : ''}
        {domain === null ? 'Open a domain to search its pages.' : `Searching pages of ${domain}`}
      </Note>
    </Dialog>
  )
}

function useResults(text: string) {
  const [location] = useLocation()
  const isOperator = useSession().person.is_operator
  const domains = useQuery(domainsQuery).data ?? []
  const names = domains.map(({ custom_domain: name }) => name)
  const domain = domainInSight(location, names)
  const [search] = useDebouncedValue(text, 200)
  const pages = useInfiniteQuery({
    ...pagesQuery(domain ?? '', { search, match: 'contains', by: 'path', isDescending: false }),
    enabled: domain !== null && search !== '',
  })

  const results = [...screenResults(text, isOperator), ...domainResults(text, names)]
  if (domain !== null) {
    const found = text === '' ? [] : (pages.data?.pages[0]?.pages ?? [])
    results.push(...tabResults(text, domain), ...pageResults(domain, found))
  }
  return { results, domain, isSearching: pages.isFetching || search !== text }
}

/** The domain of the open screen, or the only one. */
function domainInSight(location: string, names: readonly string[]): string | null {
  const inAddress = /^\/domains\/([^/]+)/.exec(location)?.[1]
  if (inAddress !== undefined) return decodeURIComponent(inAddress)
  return names.length === 1 ? names[0]! : null
}

function matches(title: string, text: string): boolean {
  return title.toLowerCase().includes(text)
}

function screenResults(text: string, isOperator: boolean): Result[] {
  return SCREENS.filter(
    ({ group, title }) => (isOperator || group !== 'Operator') && matches(title, text),
  ).map(({ title, to, Icon }) => ({ key: to, title, kind: 'Screen', to, Icon }))
}

function tabResults(text: string, domain: string): Result[] {
  return DOMAIN_TABS.filter(({ title }) => matches(title, text)).map(({ title, route, Icon }) => ({
    key: route,
    title: `${title} of ${domain}`,
    kind: 'Screen',
    to: domainPath(route, domain),
    Icon,
  }))
}

function domainResults(text: string, names: readonly string[]): Result[] {
  const found = names.filter((name) => matches(name, text)).slice(0, SHOWN)
  return found.map((name) => ({
    key: `domain ${name}`,
    title: name,
    kind: 'Domain',
    to: domainPath('domain', name),
    Icon: IconWorld,
  }))
}

function pageResults(domain: string, pages: readonly ListedPage[]): Result[] {
  return pages.slice(0, SHOWN).map(({ path }) => ({
    key: `page ${path}`,
    title: path,
    kind: 'Page',
    to: pagePath(domain, path),
    Icon: IconFileText,
  }))
}
