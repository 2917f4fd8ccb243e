import { Burger, Group } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import IconChevronDown from '@tabler/icons-react/dist/esm/icons/IconChevronDown.mjs'
import IconSearch from '@tabler/icons-react/dist/esm/icons/IconSearch.mjs'
import IconSelector from '@tabler/icons-react/dist/esm/icons/IconSelector.mjs'
import { useQuery } from '@tanstack/react-query'
import { lazy, type ReactNode, Suspense, useCallback, useEffect, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { brandingQuery } from '../api/branding-queries.ts'
import { useRights } from '../api/rights.ts'
import { useSession } from '../api/session.ts'
import { LiveMark, useLiveFigures } from '../live/live-figures.tsx'
import { showNamedPlace } from '../parts/addressed.ts'
import { ROUTES } from '../route-map.ts'
import { AccountSwitcher } from './account-switcher.tsx'
import { Bell } from './bell.tsx'
import { ErrorBoundary } from './error-boundary.tsx'
import { Wordmark } from './frame.tsx'
import { SCREENS, type Screen } from './navigation.ts'
import { scrollNewScreen, watchScrolling } from './scroll-memory.ts'
import { isChosen, seenBrands } from './seen-brand.ts'
import classes from './shell.module.css'

const AccountBrand = lazy(() => import('./account-brand.tsx'))
const Search = lazy(() => import('./search.tsx'))
const KeysHelp = lazy(() => import('./keys-help.tsx'))
const NavigationDrawer = lazy(() => import('./drawer.tsx'))
const PersonMenu = lazy(() => import('./person-menu.tsx'))

export function Shell({ children }: { children: ReactNode }) {
  const [isOpen, setOpen] = useState(false)
  const [wasOpened, setWasOpened] = useState(false)
  const burger = useRef<HTMLButtonElement>(null)
  const closeDrawer = () => {
    setOpen(false)
    burger.current?.focus()
  }
  const [location] = useLocation()
  const main = useRef<HTMLElement>(null)
  const [dialog, setDialog] = useState<'search' | 'keys' | null>(null)
  const show = (shown: typeof dialog) => {
    setOpen(false)
    setDialog(shown)
  }
  useHotkeys([['mod+K', () => show('search')]], [])
  useHotkeys([
    ['shift+?', () => show('keys')],
    // On some keyboards it needs no Shift.
    ['?', () => show('keys')],
  ])
  useLiveFigures()
  useKeptBrand()
  const showNewScreen = useCallback(() => {
    setOpen(false)
    main.current?.focus({ preventScroll: true })
    if (!showNamedPlace()) scrollNewScreen()
  }, [])
  useNewScreen(location, showNewScreen)
  useEffect(() => void showNamedPlace(), [])
  useEffect(watchScrolling, [])

  return (
    <div className={classes.shell}>
      <a className={classes.skip} href="#main">
        Skip to content
      </a>
      <header className={classes.top}>
        <Burger
          ref={burger}
          opened={isOpen}
          onClick={() => {
            setOpen(true)
            setWasOpened(true)
          }}
          aria-label="Open the menu"
          size="sm"
        />
        <OwnBrand at="window" />
        <OwnBrand at="top" />
        <Bell />
      </header>
      <aside className={classes.side}>
        <Navigation onShow={show} />
      </aside>
      {wasOpened && (
        <Suspense fallback={null}>
          <NavigationDrawer isOpen={isOpen} onClose={closeDrawer} title={<OwnBrand at="top" />}>
            <Navigation isInDrawer onShow={show} />
          </NavigationDrawer>
        </Suspense>
      )}
      <main id="main" ref={main} tabIndex={-1} className={classes.main}>
        <ErrorBoundary key={location}>{children}</ErrorBoundary>
      </main>
      <Suspense fallback={null}>
        {dialog === 'search' && <Search onClose={() => setDialog(null)} />}
        {dialog === 'keys' && <KeysHelp onClose={() => setDialog(null)} />}
      </Suspense>
    </div>
  )
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

/** The screens before the next sign-in in this browser look the same. */
function useKeptBrand(): void {
  const { account } = useSession()
  const { data } = useQuery({ ...brandingQuery, enabled: account !== null })
  const name = account?.name
  useEffect(() => {
    if (data === undefined || name === undefined) return
    seenBrands.keepOfAccount(isChosen(data) ? { ...data, account: name } : null)
  }, [data, name])
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

type NavigationProps = { isInDrawer?: boolean; onShow: (dialog: 'search' | 'keys') => void }

function Navigation({ isInDrawer = false, onShow }: NavigationProps) {
  const { account, person } = useSession()
  const may = useRights()
  const shown = SCREENS.filter(
    ({ needs, tabOf }) => tabOf === undefined && (needs === undefined || may(needs)),
  )
  const inGroup = (group: Screen['group']) => shown.filter((screen) => screen.group === group)
  const ofAccount = inGroup('Account')
  return (
    <div className={classes.navigation}>
      {!isInDrawer && <OwnBrand at="top" />}
      {account !== null && <AccountSwitcher account={account} />}
      <button
        type="button"
        className={classes.search}
        aria-keyshortcuts="Control+K"
        onClick={() => onShow('search')}
      >
        <IconSearch size={18} stroke={1.75} aria-hidden />
        Search
        <kbd>Ctrl K</kbd>
      </button>
      <nav aria-label="Main" className={classes.links}>
        {inGroup(undefined).map((screen) => (
          <NavigationLink key={screen.to} {...screen} />
        ))}
        {ofAccount.length > 0 && <span className={classes.heading}>Account</span>}
        {ofAccount.map((screen) => (
          <NavigationLink key={screen.to} {...screen} />
        ))}
        {person.is_operator && <OperatorLinks screens={inGroup('Operator')} />}
      </nav>
      <div className={classes.foot}>
        <Group justify="space-between" wrap="nowrap">
          <LiveMark />
          <Bell />
        </Group>
        <PersonButton onKeys={() => onShow('keys')} />
        <OwnBrand at="foot" />
      </div>
    </div>
  )
}

/** Folded until somebody opens it, or is on one of its screens. */
function OperatorLinks({ screens }: { screens: readonly Screen[] }) {
  const [location] = useLocation()
  const isUsed = screens.some(({ to }) => to === location)
  const [isOpened, setOpened] = useState(false)
  const isOpen = isOpened || isUsed
  return (
    <>
      <button
        type="button"
        className={classes.fold}
        aria-expanded={isOpen}
        disabled={isUsed}
        onClick={() => setOpened(!isOpened)}
      >
        Operator
        {!isUsed && <IconChevronDown size={14} aria-hidden />}
      </button>
      {isOpen && screens.map((screen) => <NavigationLink key={screen.to} {...screen} />)}
    </>
  )
}

function NavigationLink({ title, to, Icon }: Screen) {
  const [location] = useLocation()
  return (
    <Link href={to} className={classes.link} aria-current={isAt(to, location) ? 'page' : undefined}>
      <Icon size={18} stroke={1.75} aria-hidden />
      {title}
    </Link>
  )
}

/** Whether a screen is open, or one of its tabs, or one below it. The screen of the person is below no other. */
function isAt(to: string, location: string): boolean {
  const tabs = SCREENS.filter(({ tabOf }) => tabOf === to)
  if ([to, ...tabs.map((tab) => tab.to)].includes(location)) return true
  return location.startsWith(`${to}/`) && location !== ROUTES.security
}

function PersonButton({ onKeys }: { onKeys: () => void }) {
  const { email } = useSession().person
  const [isOpen, setOpen] = useState(false)
  const opener = useRef<HTMLButtonElement>(null)
  const close = () => {
    setOpen(false)
    opener.current?.focus()
  }
  return (
    <div className={classes.personal}>
      <button
        ref={opener}
        type="button"
        className={classes.person}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-label={`${email}. Your menu`}
        onClick={() => setOpen(!isOpen)}
      >
        <span className={classes.accountName}>{email}</span>
        <IconSelector size={16} aria-hidden />
      </button>
      {isOpen && (
        <Suspense fallback={null}>
          <PersonMenu onClose={close} onKeys={onKeys} />
        </Suspense>
      )}
    </div>
  )
}
