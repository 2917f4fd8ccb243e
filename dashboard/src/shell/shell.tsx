import { Anchor, Burger, Drawer, Group, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { request } from '../api/request.ts'
import { switchAccount, useMe } from '../api/session.ts'
import { LiveMark, useLiveFigures } from '../live/live-figures.tsx'
import { notifyFailed } from '../parts/notifications.tsx'
import { ROUTES } from '../route-map.ts'
import { ErrorBoundary } from './error-boundary.tsx'
import { SchemeToggle, Wordmark } from './frame.tsx'
import classes from './shell.module.css'

/** The navigation around every screen; on phones in a drawer. */
export function Shell({ children }: { children: ReactNode }) {
  const [isOpen, setOpen] = useState(false)
  const [location] = useLocation()
  const main = useRef<HTMLElement>(null)
  useLiveFigures()
  const shown = useRef(location)
  useEffect(() => {
    if (shown.current === location) return
    shown.current = location
    // A new screen starts at its top, for screen readers too.
    setOpen(false)
    window.scrollTo(0, 0)
    main.current?.focus({ preventScroll: true })
  }, [location])

  return (
    <div className={classes.shell}>
      <a className={classes.skip} href="#main">
        Skip to content
      </a>
      <header className={classes.top}>
        <Burger opened={isOpen} onClick={() => setOpen(true)} aria-label="Open the menu" size="sm" />
        <Wordmark />
      </header>
      <aside className={classes.side}>
        <Navigation />
      </aside>
      <Drawer.Root opened={isOpen} onClose={() => setOpen(false)} size={280} lockScroll={false}>
        <Drawer.Overlay />
        <Drawer.Content>
          {/* Without the role it would be a second banner of the page. */}
          <Drawer.Header role="presentation">
            <Drawer.Title>
              <Wordmark />
            </Drawer.Title>
            <Drawer.CloseButton aria-label="Close the menu" />
          </Drawer.Header>
          <Drawer.Body>
            <Navigation isInDrawer />
          </Drawer.Body>
        </Drawer.Content>
      </Drawer.Root>
      <main id="main" ref={main} tabIndex={-1} className={classes.main}>
        <ErrorBoundary key={location}>{children}</ErrorBoundary>
      </main>
    </div>
  )
}

function Navigation({ isInDrawer = false }: { isInDrawer?: boolean }) {
  const me = useMe()
  return (
    <div className={classes.navigation}>
      {!isInDrawer && <Wordmark />}
      <nav aria-label="Main" className={classes.links}>
        <NavigationLink to={ROUTES.domains}>Domains</NavigationLink>
        <NavigationLink to={ROUTES.traffic}>Traffic</NavigationLink>
        <NavigationLink to={ROUTES.keys}>API keys</NavigationLink>
        <NavigationLink to={ROUTES.plan}>Plan</NavigationLink>
        <NavigationLink to={ROUTES.account}>Account</NavigationLink>
        {me.role === 'operator' && (
          <>
            <span className={classes.heading}>Operator</span>
            <NavigationLink to={ROUTES.operatorAccounts}>Accounts</NavigationLink>
            <NavigationLink to={ROUTES.operatorNodes}>Nodes</NavigationLink>
            <NavigationLink to={ROUTES.operatorQueue}>Queue</NavigationLink>
            <NavigationLink to={ROUTES.operatorFailures}>Failures</NavigationLink>
          </>
        )}
        <span className={classes.heading}>Reference</span>
        <a className={classes.link} href="/docs">
          API reference
        </a>
      </nav>
      <div className={classes.foot}>
        <LiveMark />
        <Text size="sm" className="break" fw={500}>
          {me.email}
        </Text>
        <Group justify="space-between" wrap="nowrap">
          <SignOut />
          <SchemeToggle />
        </Group>
      </div>
    </div>
  )
}

function NavigationLink({ to, children }: { to: string; children: ReactNode }) {
  const [location] = useLocation()
  const isHere = location === to || location.startsWith(`${to}/`)
  return (
    <Link href={to} className={classes.link} aria-current={isHere ? 'page' : undefined}>
      {children}
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
