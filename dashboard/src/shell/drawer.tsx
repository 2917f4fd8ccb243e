import { Drawer } from '@mantine/core'
import type { ReactNode } from 'react'

/** The navigation of a narrow window. Is loaded when it opens first. */
export default function NavigationDrawer(props: {
  isOpen: boolean
  onClose: () => void
  title: ReactNode
  children: ReactNode
}) {
  return (
    <Drawer.Root
      opened={props.isOpen}
      onClose={props.onClose}
      size={280}
      lockScroll={false}
      returnFocus={false}
    >
      <Drawer.Overlay />
      <Drawer.Content>
        {/* Without the role it would be a second banner of the page. */}
        <Drawer.Header role="presentation">
          <Drawer.Title>{props.title}</Drawer.Title>
          <Drawer.CloseButton aria-label="Close the menu" />
        </Drawer.Header>
        <Drawer.Body>{props.children}</Drawer.Body>
      </Drawer.Content>
    </Drawer.Root>
  )
}
