import type { KeyboardCoordinateGetter } from "@dnd-kit/core";

/** Move a card that is held with the keyboard to the next column on the left or right. */
export const columnAfter: KeyboardCoordinateGetter = (event, { currentCoordinates, context }) => {
  const isRight = event.code === "ArrowRight";
  if (!isRight && event.code !== "ArrowLeft") return undefined;
  event.preventDefault();
  const boxes = context.droppableContainers
    .getEnabled()
    .flatMap((container) => context.droppableRects.get(container.id) ?? []);
  const here = currentCoordinates.x;
  const beyond = boxes
    .filter((box) => (isRight ? box.left > here + box.width / 2 : box.left < here - box.width / 2))
    .sort((one, other) => Math.abs(one.left - here) - Math.abs(other.left - here));
  const [next] = beyond;
  return next && { x: next.left, y: currentCoordinates.y };
};
