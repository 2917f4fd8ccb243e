import { Menu, useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { useLocation } from 'wouter'
import { showNamedPlace } from '../parts/addressed.ts'
import { ROUTES } from '../route-map.ts'
import classes from './shell.module.css'
import { useSignOut } from './sign-out.ts'

/** What belongs to the person, in whichever account. Is loaded when it opens. */
export default function PersonMenu({ onClose, onKeys }: { onClose: () => void; onKeys: () => void }) {
  const [, navigate] = useLocation()
  const signOut = useSignOut()
  const { setColorScheme } = useMantineColorScheme({ keepTransitions: true })
  const isDark = useComputedColorScheme('light', { getInitialValueInEffect: false }) === 'dark'
  const open = (place: string) => {
    navigate(`${ROUTES.security}#${place}`)
    // The menu gives the focus back as it closes.
    requestAnimationFrame(() => showNamedPlace())
  }
  return (
    <Menu
      opened
      onClose={onClose}
      position="top-start"
      withinPortal={false}
      withInitialFocusPlaceholder={false}
    >
      <Menu.Target>
        <button type="button" tabIndex={-1} aria-hidden className={classes.anchor} />
      </Menu.Target>
      <Menu.Dropdown aria-label="Your menu">
        <Menu.Item data-autofocus onClick={() => open('profile')}>
          Profile
        </Menu.Item>
        <Menu.Item onClick={() => open('factors')}>Password and second factors</Menu.Item>
        <Menu.Item onClick={() => open('sessions')}>Sessions</Menu.Item>
        <Menu.Divider />
        <Menu.Item onClick={() => setColorScheme(isDark ? 'light' : 'dark')}>
          {isDark ? 'Use light colours' : 'Use dark colours'}
        </Menu.Item>
        <Menu.Item onClick={onKeys}>Keyboard shortcuts</Menu.Item>
        <Menu.Item component="a" href="/docs">
          API reference
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item onClick={() => void signOut()}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
