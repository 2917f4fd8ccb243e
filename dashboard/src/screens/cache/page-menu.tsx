import { Menu } from '@mantine/core'
import { useLocation } from 'wouter'
import { MenuAnchor } from '../../parts/menu-anchor.tsx'
import { Note } from '../../parts/page.tsx'
import { pagePath } from '../../route-map.ts'

/** The actions of one page. Deleting asks first. `onDeed` is null if the role may not delete. */
export function PageMenu(props: {
  domain: string
  path: string
  isActive: boolean
  onDeed: ((deed: 'purge' | 'refresh') => void) | null
  close: () => void
}) {
  const { domain, path, onDeed, close } = props
  const [, navigate] = useLocation()
  return (
    <Menu opened onClose={close} position="bottom-end" withinPortal returnFocus>
      <Menu.Target>
        <MenuAnchor />
      </Menu.Target>
      <Menu.Dropdown aria-label={`Actions for ${path}`}>
        <Menu.Item component="a" href={`https://${domain}${path}`} target="_blank" rel="noreferrer">
          Open
        </Menu.Item>
        <Menu.Item onClick={() => navigate(pagePath(domain, path))}>Compare</Menu.Item>
        {onDeed !== null && (
          <>
            <Menu.Item
              aria-label="Delete and render (refresh)"
              disabled={!props.isActive}
              onClick={() => onDeed('refresh')}
            >
              Delete and render (refresh)
              <Note>Crawlers wait for the new page.</Note>
            </Menu.Item>
            <Menu.Item aria-label="Delete (purge)" onClick={() => onDeed('purge')}>
              Delete (purge)
              <Note>The next crawler visit renders it.</Note>
            </Menu.Item>
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  )
}
