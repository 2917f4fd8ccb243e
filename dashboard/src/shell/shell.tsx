import { Anchor, Burger, Drawer, Group, Text } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import IconSearch from '@tabler/icons-react/dist/esm/icons/IconSearch.mjs'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Fragment, lazy, type ReactNode, Suspense, useCallback, useEffect, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { brandingQuery } from '../api/branding-queries.ts'
import { request } from '../api/request.ts'
import { useRights } from '../api/rights.ts'
import { switchAccount, useSession } from '../api/session.ts'
import type { Branding } from '../api/types.ts'
import { LiveMark, useLiveFigures } from '../live/live-figures.tsx'
import { notifyFailed } from '../parts/notifications.tsx'
import { ROUTES } from '../route-map.ts'
import { AccountSwitcher } from './account-switcher.tsx'
import { Bell } from './bell.tsx'
import { ErrorBoundary } from './error-boundary.tsx'
import { SchemeToggle, Wordmark } from './frame.tsx'
import { SCREENS } from './navigation.ts'
import { scrollNewScreen, watchScrolling } from './scroll-memory.ts'
import classes from './shell.module.css'

const AccountBrand = lazy(() => import('./account-brand.tsx'))
const Search = lazy(() => import('./search.tsx'))

export function Shell({ children }: { children: ReactNode }) {
  const [isOpen, setOpen] = useState(false)
  const [location] = useLocation()
  const main = useRef<HTMLElement>(null)
  const [isSearching, setSearching] = useState(false)
  const openSearch = () => {
    setOpen(false)
    setSearching(true)
  }
  useHotkeys([['mod+K', openSearch]], [])
  useLiveFigures()
  const showNewScreen = useCallback(() => {
    setOpen(false)
    scrollNewScreen()
    main.current?.focus({ preventScroll: true })
  }, [])
  useNewScreen(location, showNewScreen)
  useEffect(watchScrolling, [])

  return (
    <div className={classes.shell}>
      <a className={classes.skip} href="#main">
        Skip to content
      </a>
      <header className={classes.top}>
        <Burger opened={isOpen} onClick={() => setOpen(true)} aria-label="Open the menu" size="sm" />
        <OwnBrand at="window" />
        <OwnBrand at="top" />
        <Bell />
      </header>
      <aside className={classes.side}>
        <Navigation onSearch={openSearch} />
      </aside>
      <Drawer.Root opened={isOpen} onClose={() => setOpen(false)} size={280} lockScroll={false}>
        <Drawer.Overlay />
        <Drawer.Content>
          {/* Without the role it would be a second banner of the page. */}
          <Drawer.Header role="presentation">
            <Drawer.Title>
              <OwnBrand at="top" />
            </Drawer.Title>
            <Drawer.CloseButton aria-label="Close the menu" />
          </Drawer.Header>
          <Drawer.Body>
            <Navigation isInDrawer onSearch={openSearch} />
          </Drawer.Body>
        </Drawer.Content>
      </Drawer.Root>
      <main id="main" ref={main} tabIndex={-1} className={classes.main}>
        <ErrorBoundary key={location}>{children}</ErrorBoundary>
      </main>
      {isSearching && (
        <Suspense fallback={null}>
          <Search onClose={() => setSearching(false)} />
        </Suspense>
      )}
    </div>
  )
}

function isChosen({ name, logo_url: logo, colour, show_prepaint: showsPrepaint }: Branding): boolean {
  return !showsPrepaint || (name ?? logo ?? colour) !== null
}

/** The look of the account. Without an account, or if the account has chosen none, ours. Nothing until it is known, so that nothing flashes. */
function OwnBrand({ at }: { at: 'top' | 'foot' | 'window' }) {
  const { account } = useSession()
  const { data, error } = useQuery({ ...brandingQuery, enabled: account !== null })
  if (account !== null && data === undefined && error === null) return null
  if (account === null || data === undefined || !isChosen(data)) return at === 'top' ? <Wordmark /> : null
  return (
    <Suspense fallback={null}>
      <AccountBrand at={at} branding={data} account={account.name} />
    </Suspense>
  )
}

/** Calls `onNew` for each screen after the first one. */
function useNewScreen(location: string, onNew: () => void): void {
  const shown = useRef(location)
  useEffect(() => {
    if (shown.current === location) return
    shown.current = location
    onNew()
  }, [location, onNew])
}

function Navigation({ isInDrawer = false, onSearch }: { isInDrawer?: boolean; onSearch: () => void }) {
  const { account, person } = useSession()
  const { email, is_operator: isOperator } = person
  const may = useRights()
  const groups = isOperator ? [undefined, 'Operator', 'Reference'] : [undefined, 'Reference']
  return (
    <div className={classes.navigation}>
      {!isInDrawer && <OwnBrand at="top" />}
      {account !== null && <AccountSwitcher account={account} />}
      <button type="button" className={classes.search} aria-keyshortcuts="Control+K" onClick={onSearch}>
        <IconSearch size={18} stroke={1.75} aria-hidden />
        Search
        <kbd>Ctrl K</kbd>
      </button>
      <nav aria-label="Main" className={classes.links}>
        {groups.map((group) => (
          <Fragment key={group ?? ''}>
            {group !== undefined && <span className={classes.heading}>{group}</span>}
            {SCREENS.filter(
              ({ group: of, needs }) => of === group && (needs === undefined || may(needs)),
            ).map((screen) => (
              <NavigationLink key={screen.to} {...screen} />
            ))}
          </Fragment>
        ))}
      </nav>
      <div className={classes.foot}>
        <Group justify="space-between" wrap="nowrap">
          <LiveMark />
          <Bell />
        </Group>
        <Text size="sm" className="break" fw={500}>
          {email}
        </Text>
        <Group justify="space-between" wrap="nowrap">
          <SignOut />
          <SchemeToggle />
        </Group>
        <OwnBrand at="foot" />
      </div>
    </div>
  )
}

function NavigationLink({ title, to, Icon, group }: (typeof SCREENS)[number]) {
  const [location] = useLocation()
  const isBelow = location.startsWith(`${to}/`) && !SCREENS.some((screen) => screen.to === location)
  const isHere = location === to || isBelow
  const content = (
    <>
      <Icon size={18} stroke={1.75} aria-hidden />
      {title}
    </>
  )
  // The reference is a separate page outside the dashboard.
  if (group === 'Reference') {
    return (
      <a className={classes.link} href={to}>
        {content}
      </a>
    )
  }
  return (
    <Link href={to} className={classes.link} aria-current={isHere ? 'page' : undefined}>
      {content}
    </Link>
  )
}

function SignOut() {
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const signOut = async () => {
    try {
      await request('DELETE', '/api/session')
      switchAccount(queries, null)
      navigate(ROUTES.signIn)
    } catch (error) {
      notifyFailed('Sign-out failed: you are still signed in', error)
    }
  }
  return (
    <Anchor component="button" type="button" size="sm" onClick={signOut}>
      Sign out
    </Anchor>
  )
}
