set terminal svg noenhanced size 690,360 background rgb 'white' font 'sans,11' name 'p'
set multiplot layout 1,2 rowsfirst margins screen 0.1014,0.8261,0.1722,0.8194 spacing screen 0.0928,0.2333 title 'whole & ''all'': throughput of q:tpt; a ring marks the best'
colorbar_x = 0.8478
colorbar_width = 0.0261
set palette defined (0 '#fde725', 1 '#90d743', 2 '#35b779', 3 '#21918c', 4 '#31688e', 5 '#443983', 6 '#440154')
set cbrange [403.60000000000002:48576]
set cblabel 'throughput, /s'
unset colorbox
unset key
set format cb '%.0s %c/s'
set xlabel 'size [KB]'
set xtics ('4' 0, '64' 1, '1024' 2) out nomirror scale 0.5
set xrange [-0.5:2.5]
set ylabel 'threads'
set ytics ('2' 0, '7' 2, '12' 4, '17' 6, '22' 8, '27' 10, '31' 12, '36' 14, '41' 16, '46' 18, '51' 20, '56' 22) out nomirror scale 0.5
set yrange [-0.5:23.5]
set title 'mode x, only 8' offset 0,-0.7
$panel0 << EOD
0 0 403.60000000000002
1 0 NaN
2 0 NaN
0 1 NaN
1 1 NaN
2 1 4012
0 2 NaN
1 2 7063
2 2 NaN
0 3 NaN
1 3 NaN
2 3 NaN
0 4 4426.3999999999996
1 4 NaN
2 4 NaN
0 5 NaN
1 5 NaN
2 5 14042
0 6 NaN
1 6 17153
2 6 NaN
0 7 NaN
1 7 NaN
2 7 NaN
0 8 8475.6000000000004
1 8 NaN
2 8 NaN
0 9 NaN
1 9 NaN
2 9 24072
0 10 NaN
1 10 27243
2 10 NaN
0 11 NaN
1 11 NaN
2 11 NaN
0 12 12511.6
1 12 NaN
2 12 NaN
0 13 NaN
1 13 NaN
2 13 34102
0 14 NaN
1 14 37333
2 14 NaN
0 15 NaN
1 15 NaN
2 15 NaN
0 16 16144
1 16 NaN
2 16 NaN
0 17 NaN
1 17 NaN
2 17 40120
0 18 NaN
1 18 40360
2 18 NaN
0 19 NaN
1 19 NaN
2 19 NaN
0 20 16144
1 20 NaN
2 20 NaN
0 21 NaN
1 21 NaN
2 21 40120
0 22 NaN
1 22 40360
2 22 NaN
0 23 NaN
1 23 NaN
2 23 NaN
EOD
plot $panel0 using 1:2:3 with image pixels
set title 'mode 50%, only 8' offset 0,-0.7
$panel1 << EOD
0 0 NaN
1 0 2414.3999999999996
2 0 NaN
0 1 NaN
1 1 NaN
2 1 NaN
0 2 2897.2799999999997
1 2 NaN
2 2 NaN
0 3 NaN
1 3 NaN
2 3 10929.599999999999
0 4 NaN
1 4 14486.399999999998
2 4 NaN
0 5 NaN
1 5 NaN
2 5 NaN
0 6 7726.079999999999
1 6 NaN
2 6 NaN
0 7 NaN
1 7 NaN
2 7 23073.599999999995
0 8 NaN
1 8 26637.599999999999
2 8 NaN
0 9 NaN
1 9 NaN
2 9 NaN
0 10 12554.879999999999
1 10 NaN
2 10 NaN
0 11 NaN
1 11 NaN
2 11 35217.599999999999
0 12 NaN
1 12 38630.399999999994
2 12 NaN
0 13 NaN
1 13 NaN
2 13 NaN
0 14 17383.679999999997
1 14 NaN
2 14 NaN
0 15 NaN
1 15 NaN
2 15 47361.599999999999
0 16 NaN
1 16 48288
2 16 NaN
0 17 NaN
1 17 NaN
2 17 NaN
0 18 19315.199999999997
1 18 NaN
2 18 NaN
0 19 NaN
1 19 NaN
2 19 48576
0 20 NaN
1 20 48288
2 20 NaN
0 21 NaN
1 21 NaN
2 21 NaN
0 22 19315.200000000001
1 22 NaN
2 22 NaN
0 23 NaN
1 23 NaN
2 23 48576
EOD
set colorbox user origin screen colorbar_x,0.15 size screen colorbar_width,0.7
plot $panel1 using 1:2:3 with image pixels, '+' using (1):(16) every ::0::0 with points pt 6 ps 1.6 lw 3 lc rgb 'white'
unset multiplot
