// Start or stop a player; while playing, `advance` gets the seconds since the last frame.
function play(player, on, advance) {
  if (on === player.playing) return;
  player.playing = on;
  player.find(".play").textContent = on ? "Pause" : "Play";
  if (!on) return;
  let last; // a frame's time may lie before this call's
  const frame = (now) => {
    if (!player.playing) return;
    advance((now - (last ?? now)) / 1000);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}
